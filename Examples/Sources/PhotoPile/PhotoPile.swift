import CGTK
import Foundation
import WebImageGTK

/// A custom view: several photographs from the web in one widget, piled like prints on a table.
///
/// A slot loads each photograph. The view draws them all.
@MainActor final class PhotoPile {
    /// The `GtkPicture` that shows the pile.
    let widget: UnsafeMutablePointer<GtkWidget>
    private let side: Float
    /// Textures by position in the pile. They own their references.
    private var prints: [Int: OpaquePointer] = [:]

    init(_ urls: [String], side: Float = 480) {
        widget = gtk_picture_new()
        self.side = side
        for (number, url) in urls.enumerated() {
            // The widget owns its slots, and cancels their loads when it is destroyed.
            let slot = ImageSlot(on: widget, key: "photograph-\(number)") { [weak self] in self?.show($0, at: number) }
            slot.setImage(URL(string: url), thumbnail: Thumbnail(.pixels(width: 300, height: 300), mode: .aspectFill))
        }
    }

    private func show(_ image: Image?, at number: Int) {
        if let print = prints[number] { g_object_unref(UnsafeMutableRawPointer(print)) }
        prints[number] = image?.makeTexture()
        draw()
    }

    private func draw() {
        // An empty snapshot cannot be a paintable.
        guard !prints.isEmpty, let snapshot = gtk_snapshot_new() else {
            return gtk_picture_set_paintable(OpaquePointer(widget), nil)
        }
        for (number, print) in prints.sorted(by: { $0.key < $1.key }) {
            draw(print, turnedBy: angle(of: number), into: snapshot)
        }
        var size = graphene_size_t(width: side, height: side)
        let paintable = gtk_snapshot_free_to_paintable(snapshot, &size)
        gtk_picture_set_paintable(OpaquePointer(widget), paintable)
        if let paintable { g_object_unref(UnsafeMutableRawPointer(paintable)) }
    }

    private func draw(_ print: OpaquePointer, turnedBy degrees: Float, into snapshot: OpaquePointer) {
        let border: Float = 12
        let (width, height) = (
            side * 0.55, side * 0.55 * Float(gdk_texture_get_height(print)) / Float(gdk_texture_get_width(print))
        )
        var white = GdkRGBA(red: 1, green: 1, blue: 1, alpha: 1)
        var center = graphene_point_t(x: side / 2, y: side / 2)
        var paper = rectangle(width: width + 2 * border, height: height + 2 * border)
        var photograph = rectangle(width: width, height: height)
        var outline = GskRoundedRect()
        gsk_rounded_rect_init_from_rect(&outline, &paper, 0)
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &center)
        gtk_snapshot_rotate(snapshot, degrees)
        var shadow = GdkRGBA(red: 0, green: 0, blue: 0, alpha: 0.4)
        gtk_snapshot_append_outset_shadow(snapshot, &outline, &shadow, 0, 3, 2, 6)
        gtk_snapshot_append_color(snapshot, &white, &paper)
        gtk_snapshot_append_texture(snapshot, print, &photograph)
        gtk_snapshot_restore(snapshot)
    }

    /// Returns a rectangle about the origin.
    private func rectangle(width: Float, height: Float) -> graphene_rect_t {
        graphene_rect_t(
            origin: graphene_point_t(x: -width / 2, y: -height / 2), size: graphene_size_t(width: width, height: height)
        )
    }

    private func angle(of number: Int) -> Float { Float((number * 37 + 350) % 50) - 25 }

    isolated deinit {
        for print in prints.values { g_object_unref(UnsafeMutableRawPointer(print)) }
    }
}
