import CWebImageGTK
public import WebImage

/// What a slot is to show.
public enum SlotContent: Sendable {
    /// Nothing.
    case empty
    /// What stands for a picture that is not there.
    case placeholder(Placeholder)
    /// A picture; of an animation, the one to show before it plays.
    case image(Image)
}

extension Image {
    /// A new `GdkTexture` of the picture, for any function of GTK that takes one. The caller owns the reference, and gives the
    /// last one back on the main thread (`g_object_unref`). Pixels are not copied, and views that show the same ones share it.
    @MainActor public func makeTexture() -> OpaquePointer {
        let reference = Texture.of(pixels)
        g_object_ref(reference.pointer.address)
        return reference.pointer.opaque
    }
}
