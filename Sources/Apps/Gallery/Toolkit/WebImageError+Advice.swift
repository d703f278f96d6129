import FoundationEssentials
import Glibc
import WebImageGTK

extension WebImageError {
    /// The error, and advice for the user of the Gallery.
    var userDescription: String {
        [errorDescription, galleryAdvice].compactMap(\.self).joined(separator: " ")
    }

    /// Why there is no image, in a few words for a tile.
    var shortReason: String {
        switch self {
        case .httpStatus(404, _), .httpStatus(410, _), .file(_, ENOENT): "Not found"
        case .httpStatus(401, _), .httpStatus(403, _), .file(_, EACCES): "No access"
        case .httpStatus(let code, _): "The server answered \(code)"
        case .transport: "No connection"
        case .timedOut: "No answer in time"
        case .certificate: "The certificate is not trusted"
        case .blocked: "Blocked"
        case .file(_, let number): String(cString: strerror(number))
        case .unrecognizedFormat: "Not an image"
        case .decoding(let format, .corrupt, _): "Damaged \(format.title)"
        case .decoding(let format, .truncated, _): "Incomplete \(format.title)"
        case .decoding(let format, .noDecoder, _): "\(format.title) is not supported"
        case .decoding(let format, _, _): "\(format.title) of an unknown kind"
        case .limitExceeded: "Too large"
        case .outOfResources: "Not enough memory"
        case .invalidURL, .invalidRequest: "Not a valid address"
        default: "Loading failed"
        }
    }

    /// The advice for the user of the Gallery, if any.
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
