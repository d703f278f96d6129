public import FoundationEssentials

/// A decoded picture: pixels and what is known about where they came from.
///
/// It is a value that shares its pixels, cheap to copy and safe to send between threads. Its EXIF orientation is
/// already applied.
public struct Image: Sendable {
    /// The pixels: RGBA, premultiplied, sRGB.
    public var pixels: PixelBuffer
    /// Pixels in a point: 2 for a picture made for a screen with twice the density.
    public var scale: Double
    /// The format it was decoded from; `nil` for one that was made in memory.
    public var format: ImageFormat?
    /// How many frames the file holds; this picture is the first of them.
    public var frameCount: Int
    /// The bytes it was decoded from, where they were kept: those of an animation are.
    public var data: Data? {
        get { keptBytes?.data }
        set { keptBytes = newValue.map(KeptBytes.init) }
    }
    /// They are in an object so that somebody can refer to them without keeping them in memory.
    package var keptBytes: KeptBytes?
    /// The frames of a moving picture, of which ``pixels`` are the first; `nil` for a still, or where only the first
    /// frame was wanted.
    public var animation: (any AnimationSource)?
    /// The caller's own, kept with the picture by caches, on disk too.
    public var extendedData: Data?
    /// Whether rows or detail are still missing.
    public var isPartial: Bool
    /// Whether it was decoded at a smaller size than the file's own.
    public var isThumbnail: Bool
    /// Whether a processor has changed it.
    public var isTransformed: Bool
    /// What is known about where its bytes came from; `nil` for one that no manager has loaded.
    package var provenance: (any ImageProvenance)?

    /// Makes a picture of `pixels`.
    public init(
        pixels: PixelBuffer, scale: Double = 1, format: ImageFormat? = nil, frameCount: Int = 1, data: Data? = nil,
        animation: (any AnimationSource)? = nil, isPartial: Bool = false, isThumbnail: Bool = false,
        isTransformed: Bool = false
    ) {
        self.pixels = pixels
        self.scale = scale
        self.format = format
        self.frameCount = frameCount
        keptBytes = data.map(KeptBytes.init)
        self.animation = animation
        extendedData = nil
        self.isPartial = isPartial
        self.isThumbnail = isThumbnail
        self.isTransformed = isTransformed
        provenance = nil
    }

    /// Pixels across.
    public var width: Int { pixels.width }
    /// Pixels down.
    public var height: Int { pixels.height }
    /// Width and height in points: pixels divided by ``scale``.
    public var size: PointSize {
        PointSize(width: Double(pixels.width) / scale, height: Double(pixels.height) / scale)
    }
    /// The memory it takes, in bytes: pixels, the file, once where ``data`` and ``animation`` both keep it, and
    /// ``extendedData``.
    public var memoryCost: Int {
        pixels.byteCount + max(data?.count ?? 0, animation?.byteCount ?? 0) + (extendedData?.count ?? 0)
    }
}

/// The bytes of ``Image/data``, which all copies of a picture share.
package final class KeptBytes: Sendable {
    package let data: Data
    package init(_ data: Data) { self.data = data }
}
