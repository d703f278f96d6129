public import FoundationEssentials
internal import Synchronization
public import WebImageCore

/// The registered decoders and encoders.
///
/// ```swift
/// let image = try CodecRegistry.shared.decode(data)
/// let webP = try CodecRegistry.shared.encode(image, as: .webp, options: EncodingOptions(quality: 0.8))
/// ```
///
/// A decoder is chosen by the content of a file, never by its name or a server's header. Of several decoders that
/// accept the bytes, the last registered comes first; if it reports an unsupported feature, the next is tried.
public final class CodecRegistry: Sendable {
    /// The codecs of this library that work in this process: those of ``builtInDecoders(jpeg2000:)`` and ``builtInEncoders``. ``shared`` also
    /// has those of decoder processes.
    public static let builtIn = CodecRegistry()

    private let codecs: Lock<Codecs>
    /// The registry whose codecs this one has, changed; `nil` for one of its own codecs.
    private let source: Substitution?

    private struct Substitution: Sendable {
        let registry: CodecRegistry
        let decoder: @Sendable (any ImageDecoder) -> any ImageDecoder
        let encoder: @Sendable (any ImageEncoder) -> any ImageEncoder
    }

    private struct Codecs {
        /// Those registered here.
        var decoders: [any ImageDecoder]
        var encoders: [any ImageEncoder]
        /// Which of the source's are left out.
        var removedDecoders: [@Sendable (any ImageDecoder) -> Bool] = []
        var removedEncoders: [@Sendable (any ImageEncoder) -> Bool] = []
        /// The number of changes so far.
        var version = 0
        /// The contents made of them so far, one for each state. None is released, so that ``latest`` needs no lock.
        var made: [Contents] = []
    }

    /// The last of those that were made; `nil` after a registration. Not retained by this.
    private let latest = Atomic<Unmanaged<Contents>?>(nil)

    private let pace = DecoderPace()

    /// A decoder and the kind of its type, which is found out once, when it is needed: that takes longer than some decoders do.
    private final class Candidate: Sendable {
        enum Kind: UInt8 {
            /// Of this package.
            case own = 1
            /// Of this package, and works in decoder processes.
            case ownInProcesses
            case other
        }

        let decoder: any ImageDecoder
        /// 0 until it is known.
        private let known = Atomic<UInt8>(0)

        init(_ decoder: any ImageDecoder) { self.decoder = decoder }

        var kind: Kind {
            if let kind = Kind(rawValue: known.load(ordering: .relaxed)) { return kind }
            let kind: Kind =
                if decoder is any OwnDecoder { decoder is any ExternalCodec ? .ownInProcesses : .own } else { .other }
            known.store(kind.rawValue, ordering: .relaxed)
            return kind
        }

        var isOwn: Bool { kind != .other }
    }

    /// All codecs of a registry, in the order of registration, and what every load needs of them.
    private final class Contents: Sendable {
        let decoders: [any ImageDecoder]
        /// The same in the order in which they are tried.
        let candidates: [Candidate]
        let encoders: [any ImageEncoder]
        /// Those of the source.
        let base: Contents?
        /// Made for the first request to a server.
        private let knownHeaders = Lock<[String: String]?>(nil)

        init(decoders: [any ImageDecoder], encoders: [any ImageEncoder], base: Contents?) {
            self.base = base
            self.decoders = decoders
            candidates = decoders.reversed().map(Candidate.init)
            self.encoders = encoders
        }

        var acceptHeaders: [String: String] {
            if let known = knownHeaders.withLock({ $0 }) { return known }
            // Those of the program first.
            let formats = CodecRegistry.formats(of: decoders.filter(CodecRegistry.isAvailable))
            let ordered =
                formats.filter { !ImageFormat.known.contains($0) } + ImageFormat.known.filter(formats.contains)
            let types = ordered.map(\.mimeType) + ["image/*;q=0.8", "*/*;q=0.5"]
            let headers = ["Accept": types.joined(separator: ",")]
            knownHeaders.withLock { $0 = headers }
            return headers
        }
    }

    /// Creates a registry; the last codecs in the arrays come first.
    ///
    /// - Parameters:
    ///   - decoders: by default those of this library that work in this process: JPEG, PNG and APNG, GIF, WebP, BMP, ICO, ICNS, PNM,
    ///     QOI.
    ///   - encoders: by default those of this library that work in this process: JPEG, PNG and APNG, GIF, WebP, BMP, ICO.
    public init(decoders: [any ImageDecoder]? = nil, encoders: [any ImageEncoder]? = nil) {
        codecs = Lock(
            Codecs(decoders: decoders ?? Self.builtInDecoders(), encoders: encoders ?? Self.builtInEncoders))
        source = nil
    }

    /// Creates a registry with the codecs of another, also those that are registered there later, each replaced by what the
    /// closures return for it. Codecs registered here come before them.
    ///
    /// - Parameters:
    ///   - registry: the other one.
    ///   - decoder: returns what takes the place of a decoder; the same to keep it.
    ///   - encoder: returns what takes the place of an encoder; the same to keep it.
    public init(
        substituting registry: CodecRegistry, decoder: @escaping @Sendable (any ImageDecoder) -> any ImageDecoder,
        encoder: @escaping @Sendable (any ImageEncoder) -> any ImageEncoder
    ) {
        codecs = Lock(Codecs(decoders: [], encoders: []))
        source = Substitution(registry: registry, decoder: decoder, encoder: encoder)
    }

    /// The codecs, made once for each state of this registry and its source.
    private var contents: Contents {
        let base = source?.registry.contents
        if let known = latest.load(ordering: .acquiring)?.takeUnretainedValue(), known.base === base { return known }
        let own = codecs.withLock { $0 }
        var (decoders, encoders) = (own.decoders, own.encoders)
        if let source, let base {
            decoders =
                base.decoders.map(source.decoder).filter { one in !own.removedDecoders.contains { $0(one) } } + decoders
            encoders =
                base.encoders.map(source.encoder).filter { one in !own.removedEncoders.contains { $0(one) } } + encoders
        }
        let contents = Contents(decoders: decoders, encoders: encoders, base: base)
        codecs.withLock { codecs in
            // Another thread may have registered a codec, or made the same.
            guard codecs.version == own.version, codecs.made.count == own.made.count else { return }
            codecs.made.append(contents)
            latest.store(Unmanaged.passUnretained(contents), ordering: .releasing)
        }
        return contents
    }

    /// Changes a copy without the lock, since `body` may call the program, and again if another thread was first.
    private func change(_ body: (inout Codecs) -> Void) {
        while true {
            let old = codecs.withLock { $0 }
            var new = old
            body(&new)
            new.version += 1
            let isDone = codecs.withLock { codecs in
                guard codecs.version == old.version else { return false }
                new.made = codecs.made
                codecs = new
                latest.store(nil, ordering: .releasing)
                return true
            }
            if isDone { return }
        }
    }

    /// Returns the decoders of this library that work in this process; the last come first in a registry.
    ///
    /// - Parameter jpeg2000: decodes JPEG 2000 in icons of macOS, which are left out without it; `nil` by default.
    public static func builtInDecoders(jpeg2000: (any ImageDecoder)? = nil) -> [any ImageDecoder] {
        [
            PNMDecoder(), ICNSDecoder(jpeg2000: jpeg2000), ICODecoder(), BMPDecoder(), QOIDecoder(), GIFDecoder(),
            PNGDecoder(),
            JPEGDecoder(), WebPDecoder(),
        ]
    }
    /// The encoders of this library that work in this process.
    public static var builtInEncoders: [any ImageEncoder] {
        [PNGEncoder(), JPEGEncoder(), WebPEncoder(), GIFEncoder(), BMPEncoder(), ICOEncoder()]
    }

    /// Adds a decoder. It takes precedence over those registered before.
    public func register(_ decoder: any ImageDecoder) { change { $0.decoders.append(decoder) } }

    /// Adds an encoder. It takes precedence over those registered before.
    public func register(_ encoder: any ImageEncoder) { change { $0.encoders.append(encoder) } }

    /// Removes decoders, for loads and decodes that begin afterwards. May be called from any thread.
    ///
    /// ```swift
    /// CodecRegistry.shared.unregisterDecoders { $0.format == .gif }  // GIFs are errors from now on
    /// CodecRegistry.shared.unregisterEncoders { $0.format == .bmp }
    /// print(CodecRegistry.shared.decoders.map(\.format.name))
    /// ```
    ///
    /// Files of a format without a decoder fail with ``WebImageError/DecodingFailure/noDecoder``. Registries that were made of this one by
    /// `isolated(by:in:encoders:)`, such as those of managers, follow. The reverse is not true: such a registry stops using the decoders of its
    /// source that match, also those that are registered there later.
    ///
    /// - Parameter isRemoved: whether a decoder is removed. May be called again later, on any thread.
    public func unregisterDecoders(where isRemoved: @escaping @Sendable (any ImageDecoder) -> Bool) {
        change { codecs in
            codecs.decoders.removeAll(where: isRemoved)
            if source != nil { codecs.removedDecoders.append(isRemoved) }
        }
    }

    /// Removes encoders, like ``unregisterDecoders(where:)``. Images cannot be encoded in a format without an encoder, which is
    /// ``WebImageError/EncodingFailure/noEncoder``.
    ///
    /// - Parameter isRemoved: whether an encoder is removed. May be called again later, on any thread.
    public func unregisterEncoders(where isRemoved: @escaping @Sendable (any ImageEncoder) -> Bool) {
        change { codecs in
            codecs.encoders.removeAll(where: isRemoved)
            if source != nil { codecs.removedEncoders.append(isRemoved) }
        }
    }

    /// All decoders, in the order in which they are tried: the last registered first. Those that work in decoder processes are among them
    /// whether or not the program for such processes is installed; ``canDecode(_:)-(ImageFormat)`` tells.
    public var decoders: [any ImageDecoder] { contents.decoders.reversed() }

    /// All encoders, the last registered first. Of several for one format, the first is used.
    public var encoders: [any ImageEncoder] { contents.encoders.reversed() }

    /// The formats that have a decoder, in the order in which decoders are tried. Of the built-in formats, the one that
    /// compresses best comes first.
    public var readableFormats: [ImageFormat] { Self.formats(of: contents.decoders) }

    /// The formats that have an encoder, those registered first at the beginning.
    public var writableFormats: [ImageFormat] {
        var seen: Set<ImageFormat> = []
        return contents.encoders.map(\.format).filter { seen.insert($0).inserted }
    }

    /// An `Accept` header (RFC 9110, 12.5.1) with the formats that can be decoded, best first, then any other. It has no format whose decoder
    /// needs a program that was not installed when the header was made.
    public var acceptHeaders: [String: String] { contents.acceptHeaders }

    private static func formats(of decoders: [any ImageDecoder]) -> [ImageFormat] {
        var seen: Set<ImageFormat> = []
        return decoders.reversed().map(\.format).filter { seen.insert($0).inserted }
    }

    // MARK: - Decoding

    /// Whether there is a decoder for `format`, and the program that it needs.
    ///
    /// ```swift
    /// if !CodecRegistry.shared.canDecode(.avif) { print("webimage-decoder is not installed") }
    /// let formats = CodecRegistry.shared.readableFormats.filter { CodecRegistry.shared.canDecode($0) }
    /// ```
    ///
    /// For a format that is decoded in other processes, the program `webimage-decoder` must be installed. It is not started for this. If a
    /// process was started already whose sandbox lacks a layer that the registry's policy requires, the answer is `false`.
    /// `IsolatedDecoding.blockingStatus` starts one, and tells more. A single library that the program cannot load is known when an
    /// image needs it, so that decoding may still fail with ``WebImageError/isolation(format:reason:url:)``.
    public func canDecode(_ format: ImageFormat) -> Bool {
        contents.candidates.contains { $0.decoder.format == format && Self.isAvailable($0.decoder) }
    }

    /// Whether the first bytes of a file are those of a format that can be decoded, in the sense of ``canDecode(_:)-(ImageFormat)``. 18 bytes
    /// are enough for most formats: see ``ImageFormat/init(signatureOf:)``. The file may be damaged nevertheless.
    public func canDecode(_ prefix: Data) -> Bool {
        contents.candidates.contains { $0.decoder.canDecode(prefix) && Self.isAvailable($0.decoder) }
    }

    /// Reads size, orientation and frames of `data` without decoding pixels. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - limits: those on time and memory, which decoder processes keep.
    ///   - cancellation: ends the work of a decoder process; `nil`, the default, for none.
    /// - Throws: ``WebImageError/unrecognizedFormat(contentType:leadingBytes:url:)``,
    ///   ``WebImageError/decoding(format:reason:url:)``.
    public func info(
        of data: Data, limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> ImageInfo {
        try firstResult(for: data) { (decoder, _) throws(WebImageError) in
            try decoder.limited(to: limits, cancellation: cancellation).info(of: data)
        }
    }

    /// Reads the EXIF and XMP of `data`, as they are stored; without both for a format that has none, or whose decoder
    /// is not of this package. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - limits: those on time and memory, which decoder processes keep.
    ///   - cancellation: ends the work of a decoder process; `nil`, the default, for none.
    /// - Throws: the errors of ``info(of:limits:cancellation:)``.
    public func metadata(
        of data: Data, limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> ImageMetadata {
        try firstResult(for: data) { (decoder, _) throws(WebImageError) in
            let decoder = decoder.limited(to: limits, cancellation: cancellation) as? any MetadataDecoder
            return try decoder?.metadata(of: data) ?? ImageMetadata()
        }
    }

    /// Returns the embedded color profile; `nil` without one that can be read, and for formats whose decoder reads none.
    ///
    /// - Throws: the errors of ``info(of:limits:cancellation:)``.
    public func colorProfile(
        of data: Data, limits: DecodingLimits = .default
    ) throws(WebImageError) -> ColorProfile? {
        try firstResult(for: data) { (decoder, _) throws(WebImageError) in
            try (decoder.limited(to: limits, cancellation: nil) as? any ProfileDecoder)?.colorProfile(of: data)
        }
    }

    /// Returns the profile whose colors an image has that was decoded with ``DecodingOptions/keepsColors``; `nil` for
    /// sRGB. ``EncodingOptions/colorProfile`` writes it into a file.
    ///
    /// - Throws: the errors of ``info(of:limits:cancellation:)``.
    public func keptProfile(
        of data: Data, limits: DecodingLimits = .default
    ) throws(WebImageError) -> ColorProfile? {
        try colorProfile(of: data, limits: limits).flatMap { $0.model == .rgb ? $0 : nil }
    }

    /// Decodes `data`. Blocks the calling thread.
    ///
    /// - Throws: ``WebImageError/unrecognizedFormat(contentType:leadingBytes:url:)`` and the errors of
    ///   ``ImageDecoder/decode(_:options:)``.
    public func decode(_ data: Data, options: DecodingOptions = DecodingOptions()) throws(WebImageError) -> Image {
        var image = try firstResult(for: data) { (decoder, isOwn) throws(WebImageError) in
            // Those of this package set the time limit themselves.
            if isOwn { return try decoder.decodeRegion(data, options: options) }
            return try options.withTimeLimit { (options) throws(WebImageError) in
                guard data.count <= Self.quickByteCount else {
                    return try decoder.decodeRegion(data, options: options)
                }
                return try pace.measure(decoder) { () throws(WebImageError) in
                    try decoder.decodeRegion(data, options: options)
                }
            }
        }
        // The animation holds the bytes anyway, and caches need them to store it.
        if image.animation != nil { image.data = data }
        return image
    }

    /// Whether decoding takes no longer than passing the bytes to another thread would: at most 64 × 64 pixels, in a format of this package,
    /// or any small file for a decoder of the program that has been quick so far.
    ///
    /// - Parameters:
    ///   - data: the file.
    ///   - mayRunOthers: `false`, the default, on a thread that other loads wait for, which only decoders of this package may use.
    public func isQuick(toDecode data: Data, mayRunOthers: Bool = false) -> Bool {
        guard data.count <= Self.quickByteCount,
            let candidate = contents.candidates.first(where: { $0.decoder.canDecode(data) })
        else { return false }
        switch candidate.kind {
        case .other: return mayRunOthers && pace.isQuick(candidate.decoder)
        case .ownInProcesses: return false
        case .own: break
        }
        guard let info = try? candidate.decoder.info(of: data) else { return false }
        return info.size.pixelCount <= Self.quickPixelCount
    }

    /// 64 × 64 pixels in 8 KiB take 10 to 60 µs; a sleeping thread begins after about 50 µs.
    private static let (quickByteCount, quickPixelCount) = (8 << 10, 64 * 64)

    /// Returns the animation of `data`, `nil` for a still image. Decodes no pixels before a frame is requested.
    ///
    /// - Parameters:
    ///   - data: the file.
    ///   - options: those of the frames; by default frames are decoded at their size.
    /// - Throws: the errors of ``decode(_:options:)``.
    public func animation(
        of data: Data, options: DecodingOptions = DecodingOptions()
    ) throws(WebImageError) -> (any AnimationSource)? {
        try firstResult(for: data) { (decoder, _) throws(WebImageError) in
            try decoder.animation(of: data, options: options)
        }
    }

    /// Returns what the first bytes of a file tell; `nil` if they are too few, or in an unknown format.
    ///
    /// - Throws: ``WebImageError/LimitFailure/pixels(size:limit:)``, and ``WebImageError/decoding(format:reason:url:)``
    ///   if more bytes cannot help.
    public func probe(_ prefix: Data, limits: DecodingLimits = .default) throws(WebImageError) -> ImageProbe? {
        for decoder in contents.candidates.lazy.map(\.decoder) where decoder.canDecode(prefix) {
            do {
                // Unlike decoding, a decoder without an answer passes the bytes on.
                guard let probe = try decoder.limited(to: limits, cancellation: nil).probe(prefix) else { continue }
                try limits.check(probe.size)
                return probe
            } catch .decoding(_, .unsupported, _) {
                continue
            }
        }
        return nil
    }

    /// Returns a decoder for a file that begins with `prefix`, which it has already appended. `nil` if the bytes are
    /// too few, the format is unknown, or it can only be decoded as a whole.
    ///
    /// The decoder is made by the ``ImageDecoder`` that ``decode(_:options:)`` tries first. If it throws an
    /// `unsupported` error later, another one may still decode the whole file.
    ///
    /// - Throws: the errors of ``IncrementalImageDecoder/append(_:)``.
    public func makeIncrementalDecoder(
        startingWith prefix: Data, options: DecodingOptions = DecodingOptions()
    ) throws(WebImageError) -> (any IncrementalImageDecoder)? {
        var options = options
        options.region = nil
        for candidate in contents.candidates where candidate.decoder.canDecode(prefix) {
            let decoder = candidate.decoder
            do {
                let incremental =
                    candidate.isOwn
                    ? decoder.makeIncrementalDecoder(options: options)
                    : options.withTimeLimit(incremental: decoder.makeIncrementalDecoder)
                try incremental?.append(prefix)
                return incremental
            } catch .decoding(_, .unsupported, _) {
                continue
            }
        }
        return nil
    }

    private func firstResult<Result>(
        for data: Data, _ body: (_ decoder: any ImageDecoder, _ isOwn: Bool) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        var unsupported: WebImageError?
        for candidate in contents.candidates where candidate.decoder.canDecode(data) {
            do {
                return try body(candidate.decoder, candidate.isOwn)
            } catch .decoding(let format, .unsupported(let feature), _) {
                unsupported = unsupported ?? .decoding(format: format, reason: .unsupported(feature))
            }
        }
        if let unsupported { throw unsupported }
        // The decoder of a known format may not be registered.
        if let format = ImageFormat(signatureOf: data) { throw .decoding(format: format, reason: .noDecoder) }
        throw .unrecognizedFormat(contentType: nil, leadingBytes: Array(data.prefix(16)))
    }

    /// The decoder of a format that is tried first.
    public func decoder(of format: ImageFormat) -> (any ImageDecoder)? {
        contents.candidates.first { $0.decoder.format == format }?.decoder
    }

    // MARK: - Encoding

    /// Encodes `image` as `format`. Blocks the calling thread. If the image has an ``Image/animation`` and
    /// the format supports animations, encodes all frames.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``; for animations, also the errors of decoding a frame.
    public func encode(
        _ image: Image, as format: ImageFormat, options: EncodingOptions = EncodingOptions()
    ) throws(WebImageError) -> Data {
        let encoder = try encoder(for: format)
        if let animation = image.animation, encoder is any AnimationEncoder {
            return try encode(EncodableAnimation(animation), as: format, options: options)
        }
        func fitted(_ pixels: PixelBuffer, in bounds: Thumbnail?) throws(WebImageError) -> Image {
            guard let bounds else { return Image(pixels: pixels) }
            let size = bounds.targetSize(of: pixels.size)
            return Image(pixels: try pixels.resampled(to: size, cancellation: options.cancellation))
        }
        let still = try fitted(image.pixels, in: options.bounds)
        func file(of image: Image, _ options: EncodingOptions) throws(WebImageError) -> Data {
            let file = try encoder.encode(image, options: options)
            guard let map = options.gainMap else { return file }
            return try adding(map, to: file, of: image, by: encoder, options)
        }
        guard let byteLimit = options.byteLimit else { return try file(of: still, options) }
        let search = FileSizeSearch(
            format: format, byteLimit: byteLimit, usesQuality: options.usesQuality(as: format), size: still.pixels.size)
        do throws(WebImageError) {
            return try search.run(quality: options.quality) { (quality, bounds) throws(WebImageError) in
                var options = options
                options.quality = quality
                return try file(of: fitted(still.pixels, in: bounds), options)
            }
        } catch .encoding(_, .tooLong) where options.gainMap != nil {
            return try encode(image, as: format, options: options.with { $0.gainMap = nil })
        }
    }

    /// Encodes `animation` as `format`. Blocks the calling thread. A single frame becomes a still image, in any format.
    ///
    /// - Throws: the errors of the method for an image, and ``WebImageError/encoding(format:reason:)`` with
    ///   ``WebImageError/EncodingFailure/noAnimation`` if the format does not support animations.
    public func encode(
        _ animation: EncodableAnimation, as format: ImageFormat, options: EncodingOptions = EncodingOptions()
    ) throws(WebImageError) -> Data {
        let encoder = try encoder(for: format)
        var reader = try EncodableFrameReader(
            animation, format: format, maximumDimension: .max, cancellation: options.cancellation)
        if animation.frames.count == 1, let pixels = try reader.nextFrame() {
            return try encode(Image(pixels: pixels), as: format, options: options)
        }
        guard let encoder = encoder as? any AnimationEncoder else {
            throw .encoding(format: format, reason: .noAnimation)
        }
        var animation = animation
        if let bounds = options.bounds { animation.bounds = bounds }
        guard let byteLimit = options.byteLimit else { return try encoder.encode(animation, options: options) }
        let size = try reader.nextFrame()?.size ?? PixelSize(width: 1, height: 1)
        let search = FileSizeSearch(
            format: format, byteLimit: byteLimit, usesQuality: options.usesQuality(as: format),
            size: options.bounds?.targetSize(of: size) ?? size,
            // Each try starts from the original frames.
            mode: options.bounds?.mode == .stretch ? .stretch : .aspectFit)
        return try search.run(quality: options.quality) { (quality, bounds) throws(WebImageError) in
            var (options, animation) = (options, animation)
            options.quality = quality
            if let bounds { animation.bounds = bounds }
            return try encoder.encode(animation, options: options)
        }
    }

    /// Whether there is an encoder for `format`, and the program that it needs: see ``canDecode(_:)-(ImageFormat)``.
    public func canEncode(_ format: ImageFormat) -> Bool { (try? encoder(for: format)).map(Self.isAvailable) == true }

    /// Whether animations can be encoded as `format`.
    public func canEncodeAnimation(as format: ImageFormat) -> Bool {
        (try? encoder(for: format)) is any AnimationEncoder && canEncode(format)
    }

    static func isAvailable(_ codec: Any) -> Bool { (codec as? any ExternalCodec)?.isAvailable != false }

    func encoder(for format: ImageFormat) throws(WebImageError) -> any ImageEncoder {
        guard let encoder = contents.encoders.last(where: { $0.format == format }) else {
            throw .encoding(format: format, reason: .noEncoder)
        }
        return encoder
    }
}
