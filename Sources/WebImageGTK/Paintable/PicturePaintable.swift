internal import CWebImageGTK
internal import WebImage

/// The `GdkPaintable` a view keeps for life, written in Swift: pictures come and go inside it.
///
/// Giving a `GtkPicture` another paintable always lays the window out anew, even for a picture of the same size; this
/// one only asks to be drawn again, and for a new layout when its size did change.
@MainActor final class PicturePaintable {
    /// The `GdkPaintable`.
    let reference: ObjectReference
    /// The GObject owns it too, and draws with it for as long as anybody shows the paintable.
    private let painter: Painter

    /// What the GObject draws with.
    @MainActor final class Painter {
        var layers: PaintableLayers
        var fixedSize: PointSize?
        var onSnapshot: (@MainActor () -> Void)?
        /// Since when it asks to be drawn in vain, in microseconds.
        var undrawnSince: gint64?

        init(_ layers: PaintableLayers) { self.layers = layers }

        /// The size it would like to have, in whole points.
        var intrinsicSize: (width: gint, height: gint) { fixedSize?.wholePoints ?? layers.top.intrinsicSize }

        func snapshot(into snapshot: OpaquePointer, width: Double, height: Double) {
            undrawnSince = nil
            onSnapshot?()
            layers.snapshot(into: snapshot, width: width, height: height)
        }
    }

    init(_ layers: PaintableLayers = PaintableLayers()) {
        painter = Painter(layers)
        reference = ObjectReference(owning: PaintableClass.makeInstance(with: painter))
        layers.paintable = self
    }

    /// What it draws: that of the slot on show.
    var layers: PaintableLayers {
        get { painter.layers }
        set {
            guard newValue !== painter.layers else { return }
            let oldSize = painter.layers.top.intrinsicSize
            painter.layers.paintable = nil
            painter.layers = newValue
            newValue.paintable = self
            if oldSize != newValue.top.intrinsicSize { invalidateSize() }
            invalidateContents()
        }
    }

    /// The size it would like to have, in points, instead of that of what it draws.
    var fixedSize: PointSize? {
        get { painter.fixedSize }
        set {
            guard newValue != painter.fixedSize else { return }
            painter.fixedSize = newValue
            gdk_paintable_invalidate_size(reference.pointer.opaque)
        }
    }

    /// Called whenever somebody draws it, before that: not the place to change anything that is drawn.
    var onSnapshot: (@MainActor () -> Void)? {
        get { painter.onSnapshot }
        set { painter.onSnapshot = newValue }
    }

    /// Called whenever it asks to be drawn anew.
    var onInvalidate: (@MainActor () -> Void)?

    /// How long it asks to be drawn in vain, in microseconds.
    var undrawnMicroseconds: gint64 { painter.undrawnSince.map { g_get_monotonic_time() - $0 } ?? 0 }

    func invalidateContents() {
        painter.undrawnSince = painter.undrawnSince ?? g_get_monotonic_time()
        onInvalidate?()
        gdk_paintable_invalidate_contents(reference.pointer.opaque)
    }

    /// The size of what it draws is another one.
    func invalidateSize() {
        // Which makes no difference to the layout then.
        guard fixedSize == nil else { return }
        gdk_paintable_invalidate_size(reference.pointer.opaque)
    }
}
