public import SystemText

extension WebImageError {
    /// Advice for the user of a program, without the library's API. A program adds what its own options and controls can do.
    /// `nil` where there is no advice.
    public var userAdvice: String? {
        (userAdviceText?.english).map(CredentialRedaction.removingUserInformation(from:))
    }

    /// ``userAdvice``, which a program can say in the user's language.
    public var userAdviceText: LocalizableText? {
        switch self {
        case .invalidRequest(.unsupportedScheme, _): "Use an https, http, file or data URL, or a path."
        case .blocked(.host, _): nil
        case .blocked(.insecureRedirect, _): "If you trust the network, load the redirect's target."
        case .blocked(.failedBefore, _): "Try again in some minutes."
        case .httpStatus(401, _): nil
        case .httpStatus(407, _): "Write NAME:PASSWORD@ into the proxy's URL, such as in https_proxy."
        case .timedOut(.offline, _, _): advice
        case .timedOut: "Try again."
        case .invalidResponse(.contentType, _): "Check the address."
        case .invalidResponse(.bodyTooLong, _), .invalidResponse(.contentCoding, _), .invalidResponse(.decryption, _):
            nil
        case .outOfResources(.memory, _): "Free memory, and try again."
        case .outOfResources(.thread, _): "Try again."
        case .unrecognizedFormat: isWebPage ? advice : nil
        case .decoding(_, .page, _): nil
        case .decoding(_, .noDecoder, _): "This program was built without that format."
        case .isolation(_, .unavailable, _):
            "Install webimage-decoder with its libraries, or put it beside this program."
        case .limitExceeded: nil
        default: advice
        }
    }
}
