/// What finds an image again as long as it is alive elsewhere, such as on screen: an object to refer to weakly, and how it becomes the image.
package struct LivingImage: Sendable {
    package typealias Object = any AnyObject & Sendable

    package let object: Object
    /// `nil` if the bytes of the image are no longer alive.
    package let image: @Sendable (Object) -> Image?

    private init(_ object: Object, _ image: @escaping @Sendable (Object) -> Image?) {
        (self.object, self.image) = (object, image)
    }

    /// Finds the image while there are copies of it.
    package init(copiesOf image: Image) {
        self.init(image.storage) { Image(storage: unsafeDowncast($0, to: Image.Storage.self)) }
    }

    /// Finds an image of which there are copies, or whose pixels are alive, and whose ``Image/data``, if any, is alive.
    ///
    /// - Returns: `nil` for an image that is nowhere else, with an ``Image/animation``, or with ``Image/extendedData``.
    package init?(_ image: inout Image) {
        let isShared = image.isShared()
        guard isShared || image.hasSharedPixels(), image.animation == nil, image.extendedData == nil else { return nil }
        if isShared {
            self.init(copiesOf: image)
            return
        }
        let (scale, format, frameCount) = (image.scale, image.format, image.frameCount)
        let (isPartial, isThumbnail, isTransformed) = (image.isPartial, image.isThumbnail, image.isTransformed)
        let (keepsBytes, provenance) = (image.keptBytes != nil, image.provenance)
        self.init(image.pixels) { [weak bytes = image.keptBytes] pixels in
            var image = Image(
                pixels: unsafeDowncast(pixels, to: PixelBuffer.self), scale: scale, format: format,
                frameCount: frameCount, isPartial: isPartial, isThumbnail: isThumbnail, isTransformed: isTransformed)
            if keepsBytes {
                guard let bytes else { return nil }
                image.keptBytes = bytes
            }
            if let provenance { image.provenance = provenance }
            return image
        }
    }
}
