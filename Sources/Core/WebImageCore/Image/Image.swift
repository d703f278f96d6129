public import FoundationEssentials
internal import Synchronization

/// A decoded image: its pixels and what is known about their origin.
///
/// ```swift
/// let image = try await manager.image(at: url)
/// print(image.pixels.size, image.scale, image.frameCount)
/// let rounded = try await image.processed(by: [.roundedCorners(radius: 12)])
/// ```
///
/// A value that shares its pixels, so copies are cheap and can be sent between threads. The EXIF orientation is already
/// applied.
public struct Image: Sendable {
    // One reference to all properties. Caches copy images for each hit, and an image that was not used for a while is
    // not in the processor's cache: each further reference would wait for memory once more.
    /// The object that copies of the image share until one of them is changed.
    private(set) var storage: Storage

    /// The pixels: RGBA, premultiplied, sRGB.
    public var pixels: PixelBuffer {
        get { storage.properties.pixels }
        set { change { $0.pixels = newValue } }
    }
    /// Pixels per point: 2 for an image made for a screen with twice the density.
    public var scale: Double {
        get { storage.properties.scale }
        set { change { $0.scale = newValue } }
    }
    /// The format that the image was decoded from; `nil` for images made in memory.
    public var format: ImageFormat? {
        get { storage.properties.format }
        set { change { $0.format = newValue } }
    }
    /// The number of frames in the file; this image is the first.
    public var frameCount: Int {
        get { storage.properties.frameCount }
        set { change { $0.frameCount = newValue } }
    }
    /// The encoded bytes, if they were kept, as for animations.
    public var data: Data? {
        get { keptBytes?.data }
        set { keptBytes = newValue.map(KeptBytes.init) }
    }
    /// The bytes are in an object so that weak references to them are possible.
    var keptBytes: KeptBytes? {
        get { storage.properties.keptBytes }
        set { change { $0.keptBytes = newValue } }
    }
    /// The frames of an animated image, of which ``pixels`` are the first; `nil` for a still image, or if only the
    /// first frame was requested.
    public var animation: (any AnimationSource)? {
        get { storage.properties.animation }
        set { change { $0.animation = newValue } }
    }
    /// Custom data of the program, which caches store with the image, also on disk.
    public var extendedData: Data? {
        get { storage.properties.extendedData }
        set { change { $0.extendedData = newValue } }
    }
    /// Whether rows or detail are still missing.
    public var isPartial: Bool {
        get { storage.properties.isPartial }
        set { change { $0.isPartial = newValue } }
    }
    /// Whether the image was decoded at a smaller size than the file's.
    public var isThumbnail: Bool {
        get { storage.properties.isThumbnail }
        set { change { $0.isThumbnail = newValue } }
    }
    /// Whether a processor has changed the image.
    public var isTransformed: Bool {
        get { storage.properties.isTransformed }
        set { change { $0.isTransformed = newValue } }
    }
    /// The origin of the bytes, which all images made from them have in common; `nil` for images that no manager has loaded, unless the program
    /// sets one.
    public var provenance: (any ImageProvenance)? {
        get { storage.properties.provenance }
        set { change { $0.provenance = newValue } }
    }
    /// Whether newer bytes have come from the same source since the image was loaded. Caches must then no longer serve it.
    public var isSuperseded: Bool { storage.properties.marks?.isSuperseded ?? false }
    /// Whether the image may be valid for only some requests to its source, because the server's response depends on header
    /// fields of the request.
    public var mayDependOnRequest: Bool { storage.properties.marks?.mayDependOnRequest ?? false }

    /// Creates an image of `pixels`.
    public init(
        pixels: PixelBuffer, scale: Double = 1, format: ImageFormat? = nil, frameCount: Int = 1, data: Data? = nil,
        animation: (any AnimationSource)? = nil, isPartial: Bool = false, isThumbnail: Bool = false,
        isTransformed: Bool = false
    ) {
        storage = Storage(
            Properties(
                pixels: pixels, scale: scale, frameCount: frameCount, isPartial: isPartial, isThumbnail: isThumbnail,
                isTransformed: isTransformed, format: format, keptBytes: data.map(KeptBytes.init),
                animation: animation))
    }

    /// The width in pixels.
    public var width: Int { pixels.width }
    /// The height in pixels.
    public var height: Int { pixels.height }
    /// The size in points: pixels divided by ``scale``.
    public var size: PointSize {
        PointSize(width: Double(pixels.width) / scale, height: Double(pixels.height) / scale)
    }
    /// The memory used, in bytes: pixels, ``extendedData`` and the file. A file shared by ``data`` and ``animation``
    /// counts once.
    public var memoryCost: Int {
        pixels.byteCount + max(data?.count ?? 0, animation?.byteCount ?? 0) + (extendedData?.count ?? 0)
    }

    /// The image whose copies share `storage`.
    init(storage: Storage) { self.storage = storage }

    /// Whether there are copies of this value.
    mutating func isShared() -> Bool { !isKnownUniquelyReferenced(&storage) }

    /// Whether the pixels, of a value without copies, have other references.
    mutating func hasSharedPixels() -> Bool { !isKnownUniquelyReferenced(&storage.properties.pixels) }
}

extension Image {
    fileprivate struct Properties {
        var pixels: PixelBuffer
        var scale: Double
        var frameCount: Int
        var isPartial: Bool
        var isThumbnail: Bool
        var isTransformed: Bool
        var format: ImageFormat?
        var keptBytes: KeptBytes?
        var animation: (any AnimationSource)?
        var extendedData: Data?
        var provenance: (any ImageProvenance)? { didSet { marks = provenance?.marks } }
        /// Those of the provenance.
        var marks: ProvenanceMarks?
    }

    /// The properties that copies of an image share.
    final class Storage: @unchecked Sendable {
        // `@unchecked`, and without checks of exclusive access: `Image.change` writes only while one value, which its
        // caller may change, has the only reference.
        @exclusivity(unchecked) fileprivate var properties: Properties

        fileprivate init(_ properties: Properties) { self.properties = properties }
    }

    fileprivate mutating func change(_ body: (inout Properties) -> Void) {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.properties) }
        body(&storage.properties)
    }
}

/// The bytes of ``Image/data``, which all copies of an image share.
final class KeptBytes: Sendable {
    let data: Data
    init(_ data: Data) { self.data = data }
}

/// The origin of an image's bytes. All images made from the same bytes share one provenance, whatever their size, so
/// that new knowledge about the bytes applies to all of them.
///
/// A manager sets that of the images it loads: two images with the same one, as `===` compares, were made from the same response. Caches
/// of the library keep an image that a program stores without it, because that is no longer the response. A cache of one's own can mark
/// images as out of date with an own provenance.
public protocol ImageProvenance: AnyObject, Sendable {
    /// What is known of the bytes; the same object each time.
    var marks: ProvenanceMarks { get }
}

/// What each look-up in memory needs to know of an ``ImageProvenance``. Safe to use from any thread.
///
/// An object of its own: tables refer to provenances weakly, and counting the references to such an object takes several times as long.
public final class ProvenanceMarks: Sendable {
    private let superseded = Atomic(false)
    private let dependent: Atomic<Bool>

    /// - Parameter mayDependOnRequest: see ``mayDependOnRequest``.
    public init(mayDependOnRequest: Bool = false) { dependent = Atomic(mayDependOnRequest) }

    /// Whether newer bytes have come from the same source. Caches must then no longer serve the image.
    public var isSuperseded: Bool { superseded.load(ordering: .relaxed) }

    /// Whether the image may be valid for only some requests to its source. Usually it is valid for all of them, and
    /// header fields need not be compared.
    public var mayDependOnRequest: Bool {
        get { dependent.load(ordering: .relaxed) }
        set { dependent.store(newValue, ordering: .relaxed) }
    }

    /// Marks the images as out of date, for good.
    public func supersede() { superseded.store(true, ordering: .relaxed) }
}
