internal import CWebImageWebP
internal import WebImageCore

/// The chunks of a WebP file (RFC 9649), read as they arrive, without decompressing pixels.
///
///     RIFF ─┬─ VP8 or VP8L                                      a plain still
///           └─ VP8X ─┬─ ICCP? ─ ALPH? ─ VP8 or VP8L ─ EXIF? …   a still with more
///                    └─ ICCP? ─ ANIM ─ ANMF ─ ANMF ─ … EXIF? …  an animation
struct WebPFile {
    /// The canvas as stored.
    let size: PixelSize
    let hasAlpha: Bool
    let isAnimation: Bool
    /// Whether a still image is VP8L.
    let isLossless: Bool
    /// The length of the file according to its header.
    let announcedByteCount: Int
    var orientation: ImageOrientation { metadata.orientation }
    /// The contents of the chunks of EXIF and XMP.
    private(set) var metadata = MetadataRanges()
    /// The color profile, once it is complete.
    private(set) var profile: Range<Int>?
    /// How often an animation plays, 0 means forever; `nil` before its ANIM chunk.
    private(set) var loopCount: Int?
    /// The complete frames of an animation.
    private(set) var frames: [Frame] = []
    /// The next frame, if at least its header has arrived.
    private(set) var nextFrame: Frame?
    /// The bytes of chunks that are not image data, as far as they have arrived.
    var metadataByteCount: Int { wholeMetadataByteCount + openMetadataByteCount }
    private var wholeMetadataByteCount = 0
    private var openMetadataByteCount = 0
    private let frameLimit: Int
    /// The offset of the next chunk.
    private var offset = 12

    struct Frame {
        var part: FramePart
        /// The range of its image chunks in the file.
        let content: Range<Int>
    }

    /// Reads the chunks so far.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``, with ``WebImageError/DecodingFailure/truncated`` if
    ///   the size is not known yet.
    init(reading data: RawSpan, frameLimit: Int = DecodingLimits.default.frameCount) throws(WebImageError) {
        self.frameLimit = frameLimit
        let byteCount = 8 + (data.integer(at: 4, count: 4, isBigEndian: false) ?? 0)
        let features = try data.withUnsafeBytes { (bytes) throws(WebImageError) in
            try WebPBitstreamFeatures(of: bytes, isWhole: byteCount <= bytes.count)
        }
        announcedByteCount = byteCount
        size = features.size
        hasAlpha = features.has_alpha != 0
        isAnimation = features.has_animation != 0
        isLossless = features.isLossless
        try readChunks(of: data)
    }

    /// Whether data of this length contain the whole file and every frame; a frame may claim to extend beyond the end.
    func isComplete(at byteCount: Int) -> Bool { announcedByteCount <= byteCount && nextFrame == nil }

    /// Continues after more bytes have arrived.
    ///
    /// - Parameter data: the file from its first byte.
    mutating func readChunks(of data: RawSpan) throws(WebImageError) {
        let end = min(data.byteCount, announcedByteCount)
        while offset <= end - 8, let length = data.integer(at: offset + 4, count: 4, isBigEndian: false) {
            let content = offset + 8..<offset + 8 + length
            let isWhole = content.upperBound <= end
            countMetadata(
                chunkNamedAt: offset, byteCount: content.clamped(to: 0..<end).count, isWhole: isWhole, in: data)
            if data.hasText("ANMF", at: offset), isAnimation {
                try readFrame(content, isWhole: isWhole, of: data)
            } else if isWhole {
                try readChunk(namedAt: offset, content: content, of: data)
            }
            guard isWhole else { return }
            offset = content.upperBound + length % 2
        }
    }

    private mutating func countMetadata(chunkNamedAt name: Int, byteCount: Int, isWhole: Bool, in data: RawSpan) {
        let isPicture = Self.pictureChunks.contains { data.hasText($0, at: name) }
        openMetadataByteCount = isPicture || isWhole ? 0 : byteCount
        if !isPicture, isWhole { wholeMetadataByteCount += byteCount }
    }

    private mutating func readChunk(namedAt name: Int, content: Range<Int>, of data: RawSpan) throws(WebImageError) {
        if data.hasText("EXIF", at: name) {
            metadata.setEXIF(content, in: data)
        } else if data.hasText("XMP ", at: name) {
            metadata.setXMP(content, in: data)
        } else if data.hasText("ICCP", at: name) {
            profile = profile ?? content
        } else if data.hasText("ANIM", at: name) {
            guard content.count >= 6 else { throw Self.corrupt("an ANIM chunk of \(content.count) bytes") }
            loopCount = data.integer(at: content.lowerBound + 4, count: 2, isBigEndian: false)
        }
    }

    private mutating func readFrame(_ content: Range<Int>, isWhole: Bool, of data: RawSpan) throws(WebImageError) {
        func integer(at offset: Int, count: Int) -> Int? {
            data.integer(at: content.lowerBound + offset, count: count, isBigEndian: false)
        }
        guard frames.count < frameLimit else { throw .limitExceeded(reason: .frames(limit: frameLimit)) }
        guard loopCount != nil else { throw Self.corrupt("a frame before the ANIM chunk") }
        guard content.count >= Self.frameHeaderLength else {
            throw Self.corrupt("a frame of \(content.count) bytes")
        }
        guard let left = integer(at: 0, count: 3), let top = integer(at: 3, count: 3),
            let width = integer(at: 6, count: 3), let height = integer(at: 9, count: 3),
            let milliseconds = integer(at: 12, count: 3), let flags = integer(at: 15, count: 1)
        else { return }
        var part = FramePart(
            left: left * 2, top: top * 2, size: PixelSize(width: width + 1, height: height + 1),
            duration: FrameDuration.played(.milliseconds(milliseconds)), blend: flags & 2 == 0 ? .over : .source,
            disposal: flags & 1 == 0 ? .keep : .clear, isOpaque: false)
        guard part.lies(inside: size) else { throw Self.corrupt("a frame outside its canvas") }
        let image = content.lowerBound + Self.frameHeaderLength..<content.upperBound
        guard isWhole else {
            nextFrame = Frame(part: part, content: image)
            return
        }
        nextFrame = nil
        part.isOpaque = data.extracting(image).withUnsafeBytes { bytes in
            // Damage is reported when the frame is decoded; other frames may be good.
            let features = try? WebPBitstreamFeatures(of: bytes, isWhole: true)
            return features?.has_alpha == 0
        }
        frames.append(Frame(part: part, content: image))
    }

    private static func corrupt(_ reason: String) -> WebImageError {
        .decoding(format: .webp, reason: .corrupt(reason))
    }

    private static let pictureChunks: [StaticString] = ["VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF"]
    // RFC 9649, figure 9: x, y, width, height, duration, flags.
    private static let frameHeaderLength = 16
}

extension WebPFile {
    /// Whether there is a color profile, complete or not.
    var hasColorProfile: Bool { profile != nil }

    /// Returns the conversion of its colors to sRGB.
    func colorEncoding(in data: RawSpan) -> ColorEncoding { colorProfile(in: data).map(ColorEncoding.profile) ?? .sRGB }

    /// Returns the profile if it is complete and valid.
    func colorProfile(in data: RawSpan) -> ColorProfile? {
        guard let profile, profile.upperBound <= data.byteCount, profile.count <= ColorProfile.byteLimit else {
            return nil
        }
        return ColorProfile(data.extracting(profile).withUnsafeBytes { Array($0) })
    }
}

extension WebPBitstreamFeatures {
    /// Reads the headers of an image or a file.
    ///
    /// - Parameter isWhole: whether no more bytes follow.
    init(of bytes: UnsafeRawBufferPointer, isWhole: Bool) throws(WebImageError) {
        self.init()
        // An empty buffer has no address, which libwebp rejects as an invalid parameter.
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        let status = bytes.isEmpty ? VP8_STATUS_NOT_ENOUGH_DATA : WebPGetFeatures(start, bytes.count, &self)
        guard status == VP8_STATUS_OK else {
            if isWhole, status == VP8_STATUS_NOT_ENOUGH_DATA {
                throw .decoding(format: .webp, reason: .corrupt("no image data"))
            }
            throw WebImageError(status)
        }
    }

    var size: PixelSize { PixelSize(width: Int(width), height: Int(height)) }
    /// Whether it is VP8L, which needs memory for a second copy of its pixels while it is decoded.
    var isLossless: Bool { format == 2 }
}

extension WebImageError {
    init(_ status: VP8StatusCode) {
        switch status {
        case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED:
            self = .decoding(format: .webp, reason: .truncated)
        case VP8_STATUS_UNSUPPORTED_FEATURE:
            self = .decoding(format: .webp, reason: .unsupported("a feature that libwebp does not support"))
        case VP8_STATUS_OUT_OF_MEMORY:
            self = .outOfResources(reason: .memory(byteCount: 0))
        case VP8_STATUS_BITSTREAM_ERROR:
            self = .decoding(format: .webp, reason: .corrupt("an invalid bitstream"))
        default:
            self = .decoding(format: .webp, reason: .corrupt("libwebp status \(status.rawValue)"))
        }
    }
}
