internal import FoundationEssentials
internal import SystemText
internal import WebImage

/// What errors say to programs that use this library: what has happened, in the user's language, and what its classes can do about it.
extension WebImageError {
    var message: String {
        CredentialRedaction.removingUserInformation(
            from: [sentence(in: texts), advice.map(texts.string(for:))].compactMap(\.self).joined(separator: " "))
    }

    // MARK: Advice

    /// What the classes of this library can do, or the user. It names properties as C, Python, JavaScript and Vala have them.
    private var advice: LocalizableText? {
        switch self {
        case .invalidURL(_, nil): "Write it in full, such as https://example.org/image.jpg."
        case .invalidRequest(.unsupportedScheme, _): "Use an https, http, file or data URI."
        case .invalidRequest(.invalidHeader, _):
            "Names consist of letters, digits and hyphens; values contain no line breaks or NUL."
        case .blocked(.host, _), .blocked(.scheme, _), .blocked(.unresolvedHost, _):
            "A session with the policy 'app' loads it, if you trust the address."
        case .httpStatus(401, _): "Add a field 'Authorization: …' to the property 'headers'."
        case .httpStatus(407, _): "Write NAME:PASSWORD@ into the address of the session's 'proxy'."
        case .httpStatus(404, _), .httpStatus(410, _): "Check the address."
        case .httpStatus(408, _), .httpStatus(429, _), .httpStatus(500..., _): "Try again later."
        case .transport: "Check the address and the network."
        case .timedOut(.offline, _, _): "Connect, and try again."
        case .timedOut: "Try again."
        case .certificate(.selfSigned, _), .certificate(.unknownIssuer, _):
            "If you trust its authority, set the session's 'certificate-file'."
        case .limitExceeded: "Load the image with a smaller 'width' and 'height'."
        case .encoding: "Choose another format."
        case .decoding(_, .noDecoder, _): "Install webimage-decoder."
        default: userAdviceText
        }
    }
}
