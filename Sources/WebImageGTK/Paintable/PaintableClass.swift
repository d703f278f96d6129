internal import CWebImageGTK

/// The GObject class behind ``PicturePaintable``: a plain object that implements `GdkPaintable` with the
/// ``PicturePaintable.Painter`` it carries.
@MainActor enum PaintableClass {
    static func makeInstance(with painter: PicturePaintable.Painter) -> ObjectPointer {
        let instance = ObjectPointer(g_object_new_with_properties(type, 0, nil, nil))
        painterKey.set(painter, on: instance)
        return instance
    }

    private static let painterKey = AssociationKey<PicturePaintable.Painter>("web-image-painter")

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
                    nonisolated(unsafe) let target = snapshot
                    PaintableClass.withPainter(of: paintable) {
                        $0.snapshot(into: target, width: width, height: height)
                    }
                }
                methods.pointee.get_intrinsic_width = { paintable in
                    PaintableClass.withPainter(of: paintable) { $0.intrinsicSize.width } ?? 0
                }
                methods.pointee.get_intrinsic_height = { paintable in
                    PaintableClass.withPainter(of: paintable) { $0.intrinsicSize.height } ?? 0
                }
            }, interface_finalize: nil, interface_data: nil)
        g_type_add_interface_static(type, gdk_paintable_get_type(), &interface)
        return type
    }()

    /// GDK calls the methods above on the main thread only.
    nonisolated private static func withPainter<Result: Sendable>(
        of paintable: OpaquePointer?, _ body: @MainActor (PicturePaintable.Painter) -> Result
    ) -> Result? {
        guard let paintable else { return nil }
        nonisolated(unsafe) let instance = ObjectPointer(paintable)
        return MainActor.assumeIsolated { painterKey.value(of: instance).map(body) }
    }
}
