import FoundationEssentials
import WebImageGTK

extension WebImageError {
    /// What happened, and what the user of the Gallery can do about it.
    var userDescription: String { description(advice: galleryAdvice) }

    /// What the user of the Gallery can do about it; `nil` where there is no advice.
    var galleryAdvice: String? {
        switch self {
        case .httpStatus(401, _): "Write NAME:PASSWORD@ before the name of the server."
        case .unrecognizedFormat where !isWebPage && url?.isOnServer == true:
            "Choose another image, or check the address."
        case .unrecognizedFormat where !isWebPage, .decoding(_, .corrupt, _), .decoding(_, .unsupported, _),
            .limitExceeded:
            "Choose another image."
        default: userAdvice
        }
    }
}
