import FoundationEssentials
import Glibc
import WebImageGTK

extension WebImageError {
    /// The error, and advice for the user of the Gallery.
    var userDescription: String {
        [sentence(in: texts), galleryAdvice].compactMap(\.self).joined(separator: " ")
    }

    /// Why there is no image, in a few words for a tile.
    var shortReason: String {
        switch self {
        case .httpStatus(404, _), .httpStatus(410, _), .file(_, ENOENT): localized("Not found")
        case .httpStatus(401, _), .httpStatus(403, _), .file(_, EACCES): localized("No access")
        case .httpStatus(let code, _): localized("The server answered {status}", ["status": code])
        case .transport: localized("No connection")
        case .timedOut: localized("No answer in time")
        case .certificate: localized("The certificate is not trusted")
        case .blocked: localized("Blocked")
        case .file(_, let number): String(cString: strerror(number))
        case .unrecognizedFormat: localized("Not an image")
        case .decoding(let format, .corrupt, _): localized("Damaged {format}", ["format": format.title])
        case .decoding(let format, .truncated, _): localized("Incomplete {format}", ["format": format.title])
        case .decoding(let format, .noDecoder, _): localized("{format} is not supported", ["format": format.title])
        case .decoding(let format, _, _): localized("{format} of an unknown kind", ["format": format.title])
        case .limitExceeded: localized("Too large")
        case .outOfResources: localized("Not enough memory")
        case .invalidURL, .invalidRequest: localized("Not a valid address")
        default: localized("Loading failed")
        }
    }

    /// The advice for the user of the Gallery, if any.
    var galleryAdvice: String? {
        switch self {
        case .httpStatus(401, _): localized("Write NAME:PASSWORD@ before the name of the server.")
        case .httpStatus(404, _), .httpStatus(410, _): localized("Check the address.")
        case .httpStatus(408, _), .httpStatus(429, _), .httpStatus(500..., _): localized("Try again later.")
        case .transport(2, _, _): userAdvice
        case .transport: localized("Check the address and the network.")
        case .timedOut(.offline, _, _): localized("Connect, and try again.")
        case .timedOut: localized("Try again.")
        case .unrecognizedFormat where isWebPage:
            localized("Check the address, and whether the page requires a login.")
        case .unrecognizedFormat where url?.isOnServer == true:
            localized("Choose another image, or check the address.")
        case .unrecognizedFormat, .decoding(_, .corrupt, _), .decoding(_, .unsupported, _), .limitExceeded:
            localized("Choose another image.")
        case .decoding(_, .truncated, let url?) where url.isFileURL:
            localized("Copy the file again from where it came.")
        case .decoding(_, .noDecoder, _): localized("This program was built without that format.")
        default: userAdvice
        }
    }
}
