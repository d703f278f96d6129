internal import CWebImageWebP
internal import WebImageCore

extension WebPBitstreamFeatures {
    /// What the headers of a picture, or of a file, say.
    ///
    /// - Parameter isWhole: whether there are no more bytes than these.
    init(of bytes: UnsafeRawBufferPointer, isWhole: Bool) throws(WebImageError) {
        self.init()
        // Nothing has no address, which libwebp takes for a mistake of its caller.
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        let status = bytes.isEmpty ? VP8_STATUS_NOT_ENOUGH_DATA : WebPGetFeatures(start, bytes.count, &self)
        guard status == VP8_STATUS_OK else {
            if isWhole, status == VP8_STATUS_NOT_ENOUGH_DATA {
                throw .decoding(format: .webp, reason: .corrupt("no picture in it"))
            }
            throw WebImageError(status)
        }
    }

    var size: PixelSize { PixelSize(width: Int(width), height: Int(height)) }
    /// Whether it is VP8L, which needs memory for a second copy of its pixels while it is decoded.
    var isLossless: Bool { format == 2 }
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
