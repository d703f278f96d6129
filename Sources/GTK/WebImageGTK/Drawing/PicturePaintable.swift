internal import CWebImageGTK
internal import GTKObjects
internal import WebImage

/// A `GdkPaintable` implemented in Swift. A view uses the same one for all its images.
///
/// Setting another paintable on a `GtkPicture` always starts a new layout, even for an image of the same size. This one
/// requests only a redraw, and a layout when its size has changed.
@MainActor final class PicturePaintable {
    /// The `GdkPaintable`.
    let reference: ObjectReference
    private let state: State

    /// The state for drawing. The GObject owns it too, because it may draw after this object is released.
    @MainActor final class State {
        var painter: SlotPainter
        var preferredSize: PointSize?
        var onSnapshot: (@MainActor () -> Void)?
        var foreground: (@MainActor (_ snapshot: OpaquePointer, _ width: Double, _ height: Double) -> Void)?
        var offset: (@MainActor (_ width: Double, _ height: Double) -> (x: Double, y: Double)?)?
        var isRound = false
        /// The time of the first redraw request since the last drawing, in microseconds; `nil` if there is none.
        var undrawnSince: gint64?

        init(_ painter: SlotPainter) { self.painter = painter }

        /// The size in whole points.
        var intrinsicSize: (width: gint, height: gint) { preferredSize?.wholePoints ?? painter.intrinsicSize }

        func snapshot(into snapshot: OpaquePointer, width: Double, height: Double) {
            undrawnSince = nil
            onSnapshot?()
            let offset = offset?(width, height)
            if let offset {
                var origin = graphene_point_t(x: Float(offset.x), y: Float(offset.y))
                gtk_snapshot_save(snapshot)
                gtk_snapshot_translate(snapshot, &origin)
            }
            if isRound {
                var circle = GskRoundedRect(circleIn: PointSize(width: width, height: height))
                gtk_snapshot_push_rounded_clip(snapshot, &circle)
            }
            painter.snapshot(into: snapshot, width: width, height: height)
            if isRound { gtk_snapshot_pop(snapshot) }
            if offset != nil { gtk_snapshot_restore(snapshot) }
            foreground?(snapshot, width, height)
        }
    }

    init(_ painter: SlotPainter = SlotPainter()) {
        state = State(painter)
        reference = ObjectReference(owning: Self.makeInstance(with: state))
        painter.paintable = self
    }

    /// The painter of the visible slot.
    var painter: SlotPainter {
        get { state.painter }
        set {
            guard newValue !== state.painter else { return }
            let oldSize = state.painter.intrinsicSize
            state.painter.paintable = nil
            state.painter = newValue
            newValue.paintable = self
            if oldSize != newValue.intrinsicSize { invalidateSize() }
            invalidateContents()
        }
    }

    /// The size in points, whatever the image; `nil` for the size of the image.
    var preferredSize: PointSize? {
        get { state.preferredSize }
        set {
            guard newValue != state.preferredSize else { return }
            state.preferredSize = newValue
            gdk_paintable_invalidate_size(reference.pointer.opaque)
        }
    }

    /// Called before each drawing. It must not change the content.
    var onSnapshot: (@MainActor () -> Void)? {
        get { state.onSnapshot }
        set { state.onSnapshot = newValue }
    }

    /// Moves the image in an area. `nil` draws it in its place.
    var offset: (@MainActor (_ width: Double, _ height: Double) -> (x: Double, y: Double)?)? {
        get { state.offset }
        set { state.offset = newValue }
    }

    /// Whether only the largest circle in the middle of the area is visible; `false` by default.
    var isRound: Bool {
        get { state.isRound }
        set {
            state.isRound = newValue
            invalidateContents()
        }
    }

    /// Draws in front of the image.
    var foreground: (@MainActor (_ snapshot: OpaquePointer, _ width: Double, _ height: Double) -> Void)? {
        get { state.foreground }
        set { state.foreground = newValue }
    }

    /// Called for each redraw request.
    var onInvalidate: (@MainActor () -> Void)?

    /// The time since the first redraw request after the last drawing, in microseconds; 0 if there is none.
    var undrawnMicroseconds: gint64 { state.undrawnSince.map { g_get_monotonic_time() - $0 } ?? 0 }

    func invalidateContents() {
        state.undrawnSince = state.undrawnSince ?? g_get_monotonic_time()
        onInvalidate?()
        gdk_paintable_invalidate_contents(reference.pointer.opaque)
    }

    /// Requests a layout after the size of the image has changed, unless there is a preferred size.
    func invalidateSize() {
        guard preferredSize == nil else { return }
        gdk_paintable_invalidate_size(reference.pointer.opaque)
    }

    // MARK: GObject class

    private static func makeInstance(with state: State) -> ObjectPointer {
        let instance = ObjectPointer(g_object_new_with_properties(type, 0, nil, nil))
        stateKey.set(state, on: instance)
        return instance
    }

    private static let stateKey = AssociationKey<State>("web-image-paintable-state")

    /// A subclass of `GObject` that implements `GdkPaintable` with the associated state.
    private static let type: GType = {
        let type = g_type_register_static_simple(
            g_object_get_type(), "WebImagePicturePaintable", guint(MemoryLayout<GObjectClass>.size), nil,
            guint(MemoryLayout<GObject>.size), nil, G_TYPE_FLAG_FINAL)
        var interface = GInterfaceInfo(
            interface_init: { interface, _ in
                guard let interface else { return }
                let methods = interface.assumingMemoryBound(to: GdkPaintableInterface.self)
                methods.pointee.snapshot = { paintable, snapshot, width, height in
                    guard let paintable, let snapshot else { return }
                    nonisolated(unsafe) let target = snapshot  // Stays on the main thread.
                    PicturePaintable.withState(of: paintable) {
                        $0.snapshot(into: target, width: width, height: height)
                    }
                }
                methods.pointee.get_intrinsic_width = { paintable in
                    PicturePaintable.withState(of: paintable) { $0.intrinsicSize.width } ?? 0
                }
                methods.pointee.get_intrinsic_height = { paintable in
                    PicturePaintable.withState(of: paintable) { $0.intrinsicSize.height } ?? 0
                }
            }, interface_finalize: nil, interface_data: nil)
        g_type_add_interface_static(type, gdk_paintable_get_type(), &interface)
        return type
    }()

    /// GDK calls the methods above on the main thread only.
    nonisolated private static func withState<Result: Sendable>(
        of paintable: OpaquePointer?, _ body: @MainActor (State) -> Result
    ) -> Result? {
        guard let paintable else { return nil }
        return onMainThread(ObjectPointer(paintable)) { stateKey.value(of: $0).map(body) }
    }
}

extension GskRoundedRect {
    /// The largest circle in the middle of an area.
    init(circleIn area: PointSize) {
        let side = min(area.width, area.height)
        var square = graphene_rect_t(
            x: (area.width - side) / 2, y: (area.height - side) / 2, width: side, height: side)
        self.init()
        gsk_rounded_rect_init_from_rect(&self, &square, Float(side / 2))
    }
}
