import CWebImageGTK
import WebImageGTK

/// One page of the window.
@MainActor protocol GalleryPage: AnyObject {
    var widget: UnsafeMutablePointer<GtkWidget> { get }
    /// Whether nothing on it will change any more by itself, apart from what moves.
    var isSettled: Bool { get }
    /// Whether everything on it is there.
    var isComplete: Bool { get }
}

/// The pages, by the names they have on the command line.
enum GalleryPageName: String, CaseIterable {
    case grid, pictures, buttons, animated, progressive
    #if WEBIMAGE_MAP
        case markers
    #endif

    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}

/// Puts a widget into a column and a row.
typealias AttachToGrid = (_ child: UnsafeMutablePointer<GtkWidget>?, _ column: Int, _ row: Int) -> Void

extension GalleryPage {
    /// A widget with a line of text below, in the middle of a cell.
    static func captioned(
        _ child: UnsafeMutablePointer<GtkWidget>, _ text: String
    ) -> UnsafeMutablePointer<GtkWidget>? {
        let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6)
        let boxPointer = box.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: GtkBox.self) }
        gtk_box_append(boxPointer, child)
        let label = gtk_label_new(text)
        gtk_widget_add_css_class(label, "caption")
        gtk_box_append(boxPointer, label)
        for align in [gtk_widget_set_halign, gtk_widget_set_valign] {
            align(box, GTK_ALIGN_CENTER)
            align(child, GTK_ALIGN_CENTER)
        }
        return box
    }

    /// A widget in so many points, whatever its picture would like.
    static func sized(
        _ child: UnsafeMutablePointer<GtkWidget>, width: Int, height: Int
    ) -> UnsafeMutablePointer<GtkWidget> {
        let overlay = ObjectPointer(gtk_overlay_new())
        let room = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)
        gtk_widget_set_size_request(room, gint(width), gint(height))
        gtk_overlay_set_child(overlay.opaque, room)
        gtk_overlay_add_overlay(overlay.opaque, child)
        return overlay.widget
    }

    /// A grid for such cells.
    static func makeGrid() -> (widget: UnsafeMutablePointer<GtkWidget>, attach: AttachToGrid) {
        let grid = ObjectPointer(gtk_grid_new()).widget
        let pointer = UnsafeMutableRawPointer(grid).assumingMemoryBound(to: GtkGrid.self)
        gtk_grid_set_row_spacing(pointer, 24)
        gtk_grid_set_column_spacing(pointer, 24)
        for align in [gtk_widget_set_halign, gtk_widget_set_valign] { align(grid, GTK_ALIGN_CENTER) }
        for setMargin in [
            gtk_widget_set_margin_start, gtk_widget_set_margin_end, gtk_widget_set_margin_top,
            gtk_widget_set_margin_bottom,
        ] { setMargin(grid, 24) }
        return (grid, { gtk_grid_attach(pointer, $0, gint($1), gint($2), 1, 1) })
    }
}
