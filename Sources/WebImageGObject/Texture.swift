internal import CWebImageGTK
internal import FoundationEssentials
internal import WebImage

extension Image {
    /// A new `GdkTexture` of the image, which retains the pixels. May be called on any thread.
    func newTexture() -> OpaquePointer {
        let pixels = pixels
        let bytes = g_bytes_new_with_free_func(
            pixels.baseAddress, gsize(pixels.rowsByteCount),
            { data in if let data { Unmanaged<PixelBuffer>.fromOpaque(data).release() } },
            Unmanaged.passRetained(pixels).toOpaque())
        defer { g_bytes_unref(bytes) }
        return gdk_memory_texture_new(
            gint(pixels.width), gint(pixels.height), GDK_MEMORY_R8G8B8A8_PREMULTIPLIED, bytes,
            gsize(pixels.bytesPerRow))
    }
}

extension Data {
    /// New `GBytes` with a copy of the data.
    func newBytes() -> OpaquePointer { withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) } }
}
