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
    public var format: ImageFormat? {
        get { rare?.format }
        set { changeRare { $0.format = newValue } }
    }
    /// How many frames the file holds; this picture is the first of them.
    public var frameCount: Int
    /// The bytes it was decoded from, where they were kept: those of an animation are.
    public var data: Data? {
        get { keptBytes?.data }
        set { keptBytes = newValue.map(KeptBytes.init) }
    }
    /// They are in an object so that somebody can refer to them without keeping them in memory.
    package var keptBytes: KeptBytes? {
        get { rare?.keptBytes }
        set { changeRare { $0.keptBytes = newValue } }
    }
    /// The frames of a moving picture, of which ``pixels`` are the first; `nil` for a still, or where only the first
    /// frame was wanted.
    public var animation: (any AnimationSource)? {
        get { rare?.animation }
        set { changeRare { $0.animation = newValue } }
    }
    /// The caller's own, kept with the picture by caches, on disk too.
    public var extendedData: Data? {
        get { rare?.extendedData }
        set { changeRare { $0.extendedData = newValue } }
    }
    /// Whether rows or detail are still missing.
    public var isPartial: Bool
    /// Whether it was decoded at a smaller size than the file's own.
    public var isThumbnail: Bool
    /// Whether a processor has changed it.
    public var isTransformed: Bool
    /// Keeps an image at 40 bytes and two references to copy, instead of 160 and eight.
    private var rare: RareProperties?
    /// What is known about where its bytes came from; `nil` for one that no manager has loaded.
    package var provenance: (any ImageProvenance)? {
        get { rare?.provenance }
        set { changeRare { $0.provenance = newValue } }
    }

    /// Makes a picture of `pixels`.
    public init(
        pixels: PixelBuffer, scale: Double = 1, format: ImageFormat? = nil, frameCount: Int = 1, data: Data? = nil,
        animation: (any AnimationSource)? = nil, isPartial: Bool = false, isThumbnail: Bool = false,
        isTransformed: Bool = false
    ) {
        self.pixels = pixels
        self.scale = scale
        self.frameCount = frameCount
        self.isPartial = isPartial
        self.isThumbnail = isThumbnail
        self.isTransformed = isTransformed
        if format != nil || data != nil || animation != nil {
            let properties = RareProperties()
            (properties.format, properties.keptBytes) = (format, data.map(KeptBytes.init))
            properties.animation = animation
            rare = properties
        }
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

extension Image {
    /// The properties that most copies of an image share. Immutable once it belongs to an image.
    fileprivate final class RareProperties: @unchecked Sendable {
        // `@unchecked`: it only changes before other threads can see it.
        var format: ImageFormat?
        var keptBytes: KeptBytes?
        var animation: (any AnimationSource)?
        var extendedData: Data?
        var provenance: (any ImageProvenance)?

        init() {}

        init(copying other: RareProperties) {
            (format, keptBytes, animation) = (other.format, other.keptBytes, other.animation)
            (extendedData, provenance) = (other.extendedData, other.provenance)
        }
    }

    fileprivate mutating func changeRare(_ body: (RareProperties) -> Void) {
        let properties = rare.map(RareProperties.init(copying:)) ?? RareProperties()
        body(properties)
        rare = properties
    }
}

/// The bytes of ``Image/data``, which all copies of a picture share.
package final class KeptBytes: Sendable {
    package let data: Data
    package init(_ data: Data) { self.data = data }
}
