import CWebImageGTK
import WebImageGTK

/// A page that teaches.
@MainActor protocol GalleryPage: AnyObject {
    var widget: ObjectPointer { get }
    /// Whether all loads and transitions have ended. Animations may play.
    var isSettled: Bool { get }
    /// Whether all images have loaded.
    var isComplete: Bool { get }
}
/// Attaches a widget to a column and row of a grid.
typealias AttachToGrid = (_ child: UnsafeMutablePointer<GtkWidget>?, _ column: Int, _ row: Int) -> Void

extension GalleryPage {
    /// Returns a box with `child` and a caption below it, centered in its cell.
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

    /// Returns a container of this size in points for `child`, regardless of the size that `child` requests.
    static func sized(
        _ child: UnsafeMutablePointer<GtkWidget>, width: Int, height: Int
    ) -> UnsafeMutablePointer<GtkWidget> {
        let overlay = ObjectPointer(gtk_overlay_new())
        let spacer = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)
        gtk_widget_set_size_request(spacer, gint(width), gint(height))
        gtk_overlay_set_child(overlay.opaque, spacer)
        gtk_overlay_add_overlay(overlay.opaque, child)
        return overlay.widget
    }

    /// Returns a grid for captioned widgets.
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
