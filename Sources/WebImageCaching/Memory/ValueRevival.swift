public import WebImageCore

/// How a ``MemoryCache`` finds values again that it had to let go but that somebody else still holds.
///
/// It makes a closure from a value that gives the value back as long as it is alive, and does not keep it alive.
public struct ValueRevival<Value: Sendable>: Sendable {
    /// Gives the value back, or `nil` when it is gone.
    public typealias Reference = @Sendable () -> Value?

    @usableFromInline let makeReference: @Sendable (Value) -> Reference?

    /// - Parameter makeReference: makes the closure that revives the value, or `nil` for a value that is not to be found
    ///   again. Both are called on the threads that use the cache, under no lock; nor is the closure released under one.
    public init(_ makeReference: @escaping @Sendable (_ value: Value) -> Reference?) {
        self.makeReference = makeReference
    }
}

extension ValueRevival where Value: AnyObject {
    /// Objects that are alive.
    public static var weak: ValueRevival {
        ValueRevival { value in
            { [weak value] in value }
        }
    }
}

extension ValueRevival where Value == Image {
    /// Pictures whose pixels are alive, as on the screen; of those that keep their bytes (``WebImageCore/Image/data``), the
    /// ones whose bytes are alive as well. Moving pictures and those with data of their user's own are not found again.
    public static var weakPixels: ValueRevival {
        ValueRevival { image in
            guard image.animation == nil, image.extendedData == nil else { return nil }
            let (scale, format, frameCount) = (image.scale, image.format, image.frameCount)
            let (isPartial, isThumbnail, isTransformed) = (image.isPartial, image.isThumbnail, image.isTransformed)
            let (keepsBytes, provenance) = (image.keptBytes != nil, image.provenance)
            return { [weak pixels = image.pixels, weak bytes = image.keptBytes] in
                guard let pixels else { return nil }
                var image = Image(
                    pixels: pixels, scale: scale, format: format, frameCount: frameCount, isPartial: isPartial,
                    isThumbnail: isThumbnail, isTransformed: isTransformed)
                image.keptBytes = bytes
                image.provenance = provenance
                return keepsBytes == (image.keptBytes != nil) ? image : nil
            }
        }
    }
}
