internal import CWebImageGTK
internal import WebImage

/// Pixels as GDK draws them: not a copy, the texture keeps the ``PixelBuffer`` alive.
@MainActor enum Texture {
    /// The texture of `pixels`; views that show the same pixels at the same time share one, and with it the upload to
    /// the graphics card.
    static func of(_ pixels: PixelBuffer) -> ObjectReference {
        let address = Unmanaged.passUnretained(pixels).toOpaque()
        if let texture = live[address] { return ObjectReference(retaining: texture) }
        let texture = make(pixels)
        live[address] = texture
        g_object_weak_ref(
            texture.object,
            { address, _ in
                nonisolated(unsafe) let address = address  // The last reference goes on main: `ObjectReference`.
                MainActor.assumeIsolated { if let address { Texture.live[address] = nil } }
            }, address)
        return ObjectReference(owning: texture)
    }

    /// Textures somebody holds, by the address of the pixels they keep alive. A texture leaves this table in the same
    /// main-thread call that lets its pixels go, so an address found here is never that of other pixels.
    private static var live: [UnsafeMutableRawPointer: ObjectPointer] = [:]

    private static func make(_ pixels: PixelBuffer) -> ObjectPointer {
        let bytes = g_bytes_new_with_free_func(
            pixels.baseAddress, gsize(pixels.rowsByteCount),
            { data in if let data { Unmanaged<PixelBuffer>.fromOpaque(data).release() } },
            Unmanaged.passRetained(pixels).toOpaque())
        defer { g_bytes_unref(bytes) }
        return ObjectPointer(
            gdk_memory_texture_new(
                gint(pixels.width), gint(pixels.height), format(of: pixels), bytes, gsize(pixels.bytesPerRow)))
    }

    /// What is opaque is the same with and without premultiplied colours. Graphics cards take the one as it is, while GTK 4.8's
    /// cairo renderer, which makes its own of a texture each time it draws, needs half as long for the other.
    private static func format(of pixels: PixelBuffer) -> GdkMemoryFormat {
        pixels.isOpaque && isDrawnByCairo ? GDK_MEMORY_R8G8B8A8 : GDK_MEMORY_R8G8B8A8_PREMULTIPLIED
    }

    /// `false` as long as there is no window to tell.
    private static var isDrawnByCairo: Bool {
        if let knownCairo { return knownCairo }
        let windows = gtk_window_get_toplevels()
        for index in 0..<g_list_model_get_n_items(windows) {
            guard let window = g_list_model_get_item(windows, index) else { continue }
            defer { g_object_unref(window) }
            guard let renderer = gtk_native_get_renderer(ObjectPointer(window).opaque) else { continue }
            let isCairo = ObjectPointer(renderer).isInstance(of: gsk_cairo_renderer_get_type())
            knownCairo = isCairo
            return isCairo
        }
        return false
    }

    /// One program draws all its windows in the same way.
    private static var knownCairo: Bool?
}
