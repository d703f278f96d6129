public import FoundationEssentials

/// A decoded image: its pixels and what is known about their origin.
///
/// A value that shares its pixels, so copies are cheap and can be sent between threads. The EXIF orientation is already
/// applied.
public struct Image: Sendable {
    /// The pixels: RGBA, premultiplied, sRGB.
    public var pixels: PixelBuffer
    /// Pixels per point: 2 for an image made for a screen with twice the density.
    public var scale: Double
    /// The format that the image was decoded from; `nil` for images made in memory.
    public var format: ImageFormat? {
        get { rare?.content.format }
        set { changeRare { $0.format = newValue } }
    }
    /// The number of frames in the file; this image is the first.
    public var frameCount: Int
    /// The encoded bytes, if they were kept, as for animations.
    public var data: Data? {
        get { keptBytes?.data }
        set { keptBytes = newValue.map(KeptBytes.init) }
    }
    /// The bytes are in an object so that weak references to them are possible.
    package var keptBytes: KeptBytes? {
        get { rare?.content.keptBytes }
        set { changeRare { $0.keptBytes = newValue } }
    }
    /// The frames of an animated image, of which ``pixels`` are the first; `nil` for a still image, or if only the
    /// first frame was requested.
    public var animation: (any AnimationSource)? {
        get { rare?.content.animation }
        set { changeRare { $0.animation = newValue } }
    }
    /// Custom data of the program, which caches store with the image, also on disk.
    public var extendedData: Data? {
        get { rare?.content.extendedData }
        set { changeRare { $0.extendedData = newValue } }
    }
    /// Whether rows or detail are still missing.
    public var isPartial: Bool
    /// Whether the image was decoded at a smaller size than the file's.
    public var isThumbnail: Bool
    /// Whether a processor has changed the image.
    public var isTransformed: Bool
    /// Reduces the cost of copying an image from 160 bytes and eight references to 40 bytes and two.
    private var rare: RareProperties?
    /// What is known about the origin of the bytes; `nil` for images that were not loaded by a manager.
    package var provenance: (any ImageProvenance)? {
        get { rare?.content.provenance }
        set { changeRare { $0.provenance = newValue } }
    }
    /// Whether newer bytes have come from the same source. Caches must then no longer serve the image.
    package var isSuperseded: Bool { rare?.content.provenance?.isSuperseded ?? false }
    /// Whether the image may be valid for only some requests to its source.
    package var mayDependOnRequest: Bool { rare?.content.provenance?.mayDependOnRequest ?? false }

    /// Creates an image of `pixels`.
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
            rare = RareProperties(
                RareProperties.Content(format: format, keptBytes: data.map(KeptBytes.init), animation: animation))
        }
    }

    /// The width in pixels.
    package var width: Int { pixels.width }
    /// The height in pixels.
    package var height: Int { pixels.height }
    /// The size in points: pixels divided by ``scale``.
    public var size: PointSize {
        PointSize(width: Double(pixels.width) / scale, height: Double(pixels.height) / scale)
    }
    /// The memory used, in bytes: pixels, ``extendedData`` and the file. A file shared by ``data`` and ``animation``
    /// counts once.
    public var memoryCost: Int {
        pixels.byteCount + max(data?.count ?? 0, animation?.byteCount ?? 0) + (extendedData?.count ?? 0)
    }
}

extension Image {
    /// The properties that most copies of an image share. A constant, so that reading one needs no reference counting:
    /// provenances have weak references, whose objects are slow to retain.
    fileprivate final class RareProperties: Sendable {
        let content: Content

        struct Content {
            var format: ImageFormat?
            var keptBytes: KeptBytes?
            var animation: (any AnimationSource)?
            var extendedData: Data?
            var provenance: (any ImageProvenance)?
        }

        init(_ content: Content) { self.content = content }
    }

    fileprivate mutating func changeRare(_ body: (inout RareProperties.Content) -> Void) {
        var content = rare?.content ?? RareProperties.Content()
        body(&content)
        rare = RareProperties(content)
    }
}

/// The bytes of ``Image/data``, which all copies of an image share.
package final class KeptBytes: Sendable {
    package let data: Data
    package init(_ data: Data) { self.data = data }
}

/// The origin of an image's bytes. All images made from the same bytes share one provenance, whatever their size, so
/// that new knowledge about the bytes applies to all of them.
package protocol ImageProvenance: AnyObject, Sendable {
    /// Whether newer bytes have come from the same source. Caches must then no longer serve the image.
    var isSuperseded: Bool { get }
    /// Whether the image may be valid for only some requests to its source. Usually it is valid for all of them, and
    /// header fields need not be compared.
    var mayDependOnRequest: Bool { get }
}
