internal import CWebImageGTK
internal import FoundationEssentials
internal import WebImage
internal import WebImageGTK

extension Image {
    /// A new `GdkTexture` of the image, which retains the pixels. May be called on any thread.
    func newTexture() -> OpaquePointer { Texture.make(pixels).opaque }
}

extension Data {
    /// New `GBytes` with a copy of the data.
    func newBytes() -> OpaquePointer { withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) } }
}
