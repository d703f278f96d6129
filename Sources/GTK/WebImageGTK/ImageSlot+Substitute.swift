internal import CWebImageGTK
internal import GTKObjects
internal import WebImage

/// A `GdkPaintable` whose changes are observed.
@MainActor final class WatchedPaintable {
    let reference: ObjectReference
    private var connections: [SignalConnection] = []

    /// - Parameter onChange: called when the paintable has to be drawn again, or has another size.
    init(_ paintable: OpaquePointer, onChange: @escaping @MainActor () -> Void) {
        reference = ObjectReference(retaining: ObjectPointer(paintable))
        connections = ["invalidate-contents", "invalidate-size"].map { reference.pointer.onSignal($0, onChange) }
    }

    isolated deinit { for connection in connections { reference.pointer.disconnect(connection) } }
}

extension SlotPainter {
    /// What is drawn while there is no image.
    @MainActor struct Substitute {
        let paintable: WatchedPaintable
        /// Whether it takes the place of the placeholder. Otherwise it is below it, or below an image that appears.
        let hidesContent: Bool

        private var pointer: OpaquePointer { paintable.reference.pointer.opaque }

        /// The preferred size in points; 0 by 0 for any size.
        var intrinsicSize: (width: gint, height: gint) {
            (gdk_paintable_get_intrinsic_width(pointer), gdk_paintable_get_intrinsic_height(pointer))
        }

        func draw(into snapshot: OpaquePointer, width: Double, height: Double, _ layout: Layout) {
            let area = PointRect(x: 0, y: 0, width: width, height: height)
            let size = PointSize(width: Double(intrinsicSize.width), height: Double(intrinsicSize.height))
            let place = layout.place(size, in: area)
            var (clip, origin) = (graphene_rect_t(area), graphene_point_t(x: Float(place.x), y: Float(place.y)))
            gtk_snapshot_push_clip(snapshot, &clip)
            gtk_snapshot_save(snapshot)
            gtk_snapshot_translate(snapshot, &origin)
            gdk_paintable_snapshot(pointer, snapshot, place.width, place.height)
            gtk_snapshot_restore(snapshot)
            gtk_snapshot_pop(snapshot)
        }
    }
}

extension ImageSlot {
    /// What is drawn now in place of an image; `nil` for nothing.
    var substitute: SlotPainter.Substitute? {
        guard image == nil || painter.isAppearing else { return nil }
        switch state {
        case .loading, .loaded:
            // Below an image that has just been loaded, for its transition.
            guard let pending, image != nil || state.isLoading else { return nil }
            return SlotPainter.Substitute(paintable: pending, hidesContent: false)
        case .idle, .failed:
            return image == nil ? fallback.map { SlotPainter.Substitute(paintable: $0, hidesContent: true) } : nil
        }
    }

    func substituteDidChange() {
        painter.paintable?.invalidateSize()
        painter.paintable?.invalidateContents()
    }

    /// Observes a paintable that stands in for the image; `nil` for none.
    func watched(_ paintable: OpaquePointer?) -> WatchedPaintable? {
        paintable.map { WatchedPaintable($0) { [weak self] in self?.substituteDidChange() } }
    }
}

extension LoadState {
    fileprivate var isLoading: Bool { if case .loading = self { true } else { false } }
}
