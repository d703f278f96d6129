internal import CWebImageGTK
internal import GTKObjects
public import WebImage

/// Makes GDK textures of pixels. Pixels are not copied, because the texture retains the ``PixelBuffer``.
@MainActor enum Texture {
    /// Returns the texture of `pixels`. Views that show the same pixels at the same time share one texture and its
    /// upload to the graphics card.
    static func of(_ pixels: PixelBuffer) -> ObjectReference {
        let address = Unmanaged.passUnretained(pixels).toOpaque()
        if let texture = live[address] { return ObjectReference(retaining: texture) }
        let texture = make(pixels, format: format(of: pixels))
        live[address] = texture
        g_object_weak_ref(
            texture.object,
            { address, _ in
                // The last reference is released on the main thread.
                onMainThread(address) { if let address = $0 { Texture.live[address] = nil } }
            }, address)
        return ObjectReference(owning: texture)
    }

    /// Textures in use, by the address of the pixels that they retain. A texture leaves this table in the main-thread
    /// call that releases its pixels, so an address found here never belongs to other pixels.
    private static var live: [UnsafeMutableRawPointer: ObjectPointer] = [:]

    /// Returns a new texture, which the caller owns. May be called on any thread.
    nonisolated static func make(
        _ pixels: PixelBuffer, format: GdkMemoryFormat = GDK_MEMORY_R8G8B8A8_PREMULTIPLIED
    ) -> ObjectPointer {
        let bytes = g_bytes_new_with_free_func(
            pixels.baseAddress, gsize(pixels.rowsByteCount),
            // Not on the main actor: a renderer may release the bytes on another thread.
            { @Sendable data in if let data { Unmanaged<PixelBuffer>.fromOpaque(data).release() } },
            Unmanaged.passRetained(pixels).toOpaque())
        defer { g_bytes_unref(bytes) }
        return ObjectPointer(
            gdk_memory_texture_new(
                gint(pixels.width), gint(pixels.height), format, bytes, gsize(pixels.bytesPerRow)))
    }

    /// Whether GTK 4.8's GL renderer draws a wrong left edge when it enlarges a texture. It copies textures of at most 128
    /// by 128 pixels into a common one, and repeats the first pixels of the top row left of each, in place of the left
    /// column.
    static func hasWrongLeftEdge(_ texture: ObjectReference) -> Bool {
        isDrawnByCairo == false
            && max(gdk_texture_get_width(texture.pointer.opaque), gdk_texture_get_height(texture.pointer.opaque)) <= 128
    }

    /// Returns the fastest format. Opaque pixels are the same with straight and premultiplied alpha. Graphics cards use
    /// premultiplied pixels without conversion. GTK 4.8's cairo renderer converts a texture each time it draws, and
    /// needs half the time for straight alpha.
    private static func format(of pixels: PixelBuffer) -> GdkMemoryFormat {
        pixels.isOpaque && isDrawnByCairo == true ? GDK_MEMORY_R8G8B8A8 : GDK_MEMORY_R8G8B8A8_PREMULTIPLIED
    }

    /// Whether GTK draws with cairo; `nil` while there is no window.
    static var isDrawnByCairo: Bool? {
        if let knownCairo { return knownCairo }
        let windows = gtk_window_get_toplevels()
        for index in 0..<g_list_model_get_n_items(windows) {
            guard let window = g_list_model_get_item(windows, index) else { continue }
            defer { g_object_unref(window) }
            guard let renderer = gtk_native_get_renderer(ObjectPointer(window).opaque) else { continue }
            knownCairo = ObjectPointer(renderer).isInstance(of: gsk_cairo_renderer_get_type())
            return knownCairo
        }
        return nil
    }

    /// The cached result, because a program draws all its windows with the same renderer.
    private static var knownCairo: Bool?
}

extension Image {
    /// Returns a `GdkTexture` of the image, for any GTK function that takes one. Pixels are not copied, and views that
    /// show the same pixels share the texture. The caller owns the reference, and must release the last one on the main
    /// thread (`g_object_unref`).
    @MainActor public func makeTexture() -> OpaquePointer {
        let reference = Texture.of(pixels)
        g_object_ref(reference.pointer.address)
        return reference.pointer.opaque
    }

    /// Returns a new `GdkTexture` of the image, on any thread, such as one that saves images. On the main thread use
    /// ``makeTexture()``, whose textures views share.
    ///
    /// ```swift
    /// let texture = image.makeUnsharedTexture()
    /// gdk_texture_save_to_png(texture, "/tmp/photo.png")
    /// g_object_unref(UnsafeMutableRawPointer(texture))
    /// ```
    ///
    /// Pixels are not copied. The caller owns the reference. The last one must be released on the main thread once the
    /// texture was drawn, and may be released on any thread before.
    public func makeUnsharedTexture() -> OpaquePointer { Texture.make(pixels).opaque }
}
