package import WebImageCore

/// The errors that decoders and encoders throw.
package enum DecoderFailure: Codable, Sendable {
    case decoding(ImageFormat, WebImageError.DecodingFailure)
    case limitExceeded(WebImageError.LimitFailure)
    case outOfResources(WebImageError.ResourceFailure)
    case encoding(ImageFormat, WebImageError.EncodingFailure)
    case invalidFrames(WebImageError.FrameFailure)
    case cancelled
    /// The library of the format is missing.
    case unavailable(ImageFormat, String)
    case unrecognizedFormat([UInt8])
    case other(String)

    package init(_ error: WebImageError) {
        self =
            switch error {
            case .decoding(let format, let reason, _): .decoding(format, reason)
            case .limitExceeded(let reason, _): .limitExceeded(reason)
            case .outOfResources(let reason, _): .outOfResources(reason)
            case .encoding(let format, let reason): .encoding(format, reason)
            case .invalidFrames(let reason): .invalidFrames(reason)
            case .cancelled: .cancelled
            case .isolation(let format, .unavailable(let reason), _): .unavailable(format, reason)
            case .unrecognizedFormat(_, let bytes, _): .unrecognizedFormat(bytes)
            default: .other(error.description)
            }
    }

    package var error: WebImageError {
        switch self {
        case .decoding(let format, let reason): .decoding(format: format, reason: reason)
        case .limitExceeded(let reason): .limitExceeded(reason: reason)
        case .outOfResources(let reason): .outOfResources(reason: reason)
        case .encoding(let format, let reason): .encoding(format: format, reason: reason)
        case .invalidFrames(let reason): .invalidFrames(reason: reason)
        case .cancelled: .cancelled
        case .unavailable(let format, let reason): .isolation(format: format, reason: .unavailable(reason))
        case .unrecognizedFormat(let bytes):
            .unrecognizedFormat(contentType: nil, leadingBytes: Array(bytes.prefix(16)))
        case .other(let text): .processing(identifier: "webimage-decoder", reason: .failed(text))
        }
    }
}
