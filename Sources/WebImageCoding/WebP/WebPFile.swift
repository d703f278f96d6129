internal import CWebImageWebP
internal import WebImageCore

/// The chunks of a WebP file (RFC 9649), found by hopping from length to length; no pixel is unpacked.
struct WebPFile {
    /// The canvas as stored.
    let size: PixelSize
    let hasAlpha: Bool
    let isAnimation: Bool
    /// Whether the data is as long as the file says it is; its metadata stand at its end.
    let isComplete: Bool
    private(set) var orientation = ImageOrientation.up
    /// Where a colour profile is; the end may lie behind the file's.
    private(set) var profile: Range<Int>?
    /// How often an animation plays, 0 for ever.
    private(set) var loopCount = 0
    /// Every frame of an animation whose header is there, whole or not.
    private(set) var frames: [Frame] = []

    /// A frame of an animation.
    struct Frame {
        let left: Int
        let top: Int
        let size: PixelSize
        /// In seconds.
        let duration: Double
        /// The chunks of its own picture, counted from the file's first byte; the end may lie behind the file's.
        let content: Range<Int>
    }

    init(reading data: RawSpan) throws(WebImageError) {
        var features = WebPBitstreamFeatures()
        let status = data.withUnsafeBytes { bytes in
            WebPGetFeatures(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &features)
        }
        guard status == VP8_STATUS_OK else { throw WebImageError(status) }
        size = PixelSize(width: Int(features.width), height: Int(features.height))
        hasAlpha = features.has_alpha != 0
        isAnimation = features.has_animation != 0
        let announcedLength = data.integer(at: 4, count: 4, isBigEndian: false) ?? 0
        isComplete = announcedLength + 8 <= data.byteCount

        var offset = 12
        while let length = data.integer(at: offset + 4, count: 4, isBigEndian: false) {
            let content = offset + 8..<offset + 8 + length
            readChunk(namedAt: offset, content: content, of: data)
            offset = content.upperBound + length % 2
        }
    }

    private mutating func readChunk(namedAt name: Int, content: Range<Int>, of data: RawSpan) {
        func integer(at offset: Int, count: Int) -> Int? {
            data.integer(at: content.lowerBound + offset, count: count, isBigEndian: false)
        }
        if data.hasText("EXIF", at: name) {
            orientation = ImageOrientation(exif: data.extracting(content.clamped(to: 0..<data.byteCount)))
        } else if data.hasText("ICCP", at: name) {
            profile = profile ?? content
        } else if data.hasText("ANIM", at: name) {
            loopCount = integer(at: 4, count: 2) ?? 0
        } else if data.hasText("ANMF", at: name), content.count >= Self.frameHeaderLength,
            let left = integer(at: 0, count: 3), let top = integer(at: 3, count: 3),
            let width = integer(at: 6, count: 3), let height = integer(at: 9, count: 3),
            let milliseconds = integer(at: 12, count: 3)
        {
            frames.append(
                Frame(
                    left: left * 2, top: top * 2, size: PixelSize(width: width + 1, height: height + 1),
                    duration: FrameDuration.played(Double(milliseconds) / 1000),
                    content: content.lowerBound + Self.frameHeaderLength..<content.upperBound))
        }
    }

    private static let frameHeaderLength = 16
}

extension WebImageError {
    /// What libwebp's status means.
    init(_ status: VP8StatusCode) {
        switch status {
        case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED:
            self = .decoding(format: .webp, reason: .truncated)
        case VP8_STATUS_UNSUPPORTED_FEATURE:
            self = .decoding(format: .webp, reason: .unsupported("a feature that libwebp does not know"))
        case VP8_STATUS_OUT_OF_MEMORY:
            self = .outOfMemory(byteCount: 0)
        case VP8_STATUS_BITSTREAM_ERROR:
            self = .decoding(format: .webp, reason: .corrupt("a bad bitstream"))
        default:
            self = .decoding(format: .webp, reason: .corrupt("libwebp status \(status.rawValue)"))
        }
    }
}
