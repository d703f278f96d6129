internal import Glibc
public import FoundationEssentials
public import SystemText

extension WebImageError: LocalizedError, CustomStringConvertible {
    /// The error and advice, for logs and messages. Never contains the user name or password of a URL.
    public var description: String { description(advice: recoverySuggestion) }

    /// The error, with the URL. Never contains a user name or password.
    public var errorDescription: String? { sentence(in: nil) }

    /// The error, with the URL, in the user's language. Never contains a user name or password.
    ///
    /// - Parameter domain: the translations of ``problemText``; `nil` for English.
    public func sentence(in domain: TextDomain?) -> String {
        let text = domain?.string(for: problemText) ?? problem
        return CredentialRedaction.removingUserInformation(
            from: subject.map { "\($0): \(text)" } ?? text.prefix(1).uppercased() + text.dropFirst())
    }

    /// Returns the error, with other advice than the library's.
    func description(advice: String?) -> String {
        [errorDescription, advice].compactMap(\.self).joined(separator: " ")
    }

    /// The library's advice, if any.
    public var recoverySuggestion: String? { (advice?.english).map(CredentialRedaction.removingUserInformation(from:)) }

    /// The URL, file or cache key that the sentence of ``problem`` is about.
    public var subject: String? {
        switch self {
        case .invalidURL(_, let reason): reason == nil ? nil : "data: URL"
        case .file(let path, _): path
        case .notInCache(let key): key
        case .diskCache(let path, _): path
        default: url?.absoluteString
        }
    }

    /// One sentence, which begins with a small letter.
    public var problem: String { problemText.english }

    /// ``problem``, which a program can say in the user's language.
    public var problemText: LocalizableText {
        switch self {
        case .invalidURL("", _): "no URL was given."
        case .invalidURL(let text, nil): "'\(CredentialRedaction.removingAll(from: text))' is not a valid URL."
        case .invalidURL(_, let reason?): "\(reason)."
        case .invalidRequest(let reason, _): reason.problem
        case .blocked(let reason, _): reason.problem
        case .cancelled: "the load was cancelled."
        case .httpStatus(let code, _): Self.problem(ofStatus: code)
        case .transport(let code, let message, _): "\(message) (transport code \(code))."
        case .timedOut(let reason, let limit, _): reason.problem(after: limit)
        case .certificate(let reason, _): reason.problem
        case .invalidResponse(let reason, _): reason.problem
        case .file(_, ENODATA): "the file is empty."
        case .file(_, let errno): "\(systemError: errno)."
        case .outOfResources(let reason, _): reason.problem
        case .unrecognizedFormat(let contentType, let bytes, _):
            Self.problem(contentType: contentType, leadingBytes: bytes)
        case .decoding(let format, let reason, _):
            "the \(format.name) data could not be decoded: \(reason.problem.asSentenceEnd)"
        case .limitExceeded(let reason, _): reason.problem
        case .encoding(let format, let reason):
            "the image could not be encoded as \(format.name): \(reason.problem.asSentenceEnd)"
        case .isolation(let format, let reason, _):
            "the \(format.name) image could not be processed in isolation: \(reason.problem.asSentenceEnd)"
        case .invalidFrames(let reason): "the frames cannot form an animation: \(reason.problem)."
        case .processing("drawing", let reason, _): "the drawing failed: \(reason.problem.asSentenceEnd)"
        case .processing(let identifier, let reason, _):
            "the processor \(identifier) failed: \(reason.problem.asSentenceEnd)"
        case .notInCache: "not in the cache, and the request allows no other source."
        case .diskCache(_, let reason): "the disk cache \(reason.problem.asSentenceEnd)"
        case .custom(let id, let message):
            "'\(id)' could not be provided: \(LocalizableText(verbatim: message).asSentenceEnd)"
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .invalidURL(let text, nil): Self.advice(forURL: text)
        case .invalidURL: "A data: URL looks like data:image/png;base64,iVBORw0KGgo…"
        case .invalidRequest(let reason, _): reason.advice
        case .blocked(let reason, _): reason.advice
        case .cancelled, .notInCache, .custom: nil
        case .httpStatus(let code, _): Self.advice(forStatus: code)
        // CURLE_FAILED_INIT
        case .transport(2, _, _): "Install libcurl 7.87 or later."
        case .transport: "Check the address and the network."
        case .timedOut(let reason, _, _): reason.advice
        case .certificate(let reason, _): reason.advice
        case .invalidResponse(let reason, _): reason.advice
        case .file(_, let errno): errno == EEXIST ? "Remove it, or choose another name." : nil
        case .outOfResources(let reason, _): reason.advice
        case .unrecognizedFormat:
            isWebPage
                ? "Check the address, and whether the page requires a login."
                : "Check the address, or register a decoder for the format."
        case .decoding(_, .truncated, let url?) where url.isFileURL: "Copy the file again from where it came."
        case .decoding(_, let reason, _): reason.advice
        case .limitExceeded(let reason, _): reason.advice
        case .encoding(_, let reason): reason.advice
        case .isolation(_, let reason, _): reason.advice
        case .invalidFrames(let reason): reason.advice
        case .processing(_, let reason, _): reason.advice
        case .diskCache(_, let reason): reason.advice
        }
    }
}

/// The C library's message for an error number, such as "No such file or directory".
package func systemMessage(_ errno: Int32) -> String {
    ("\(systemError: errno)" as LocalizableText).english
}

extension WebImageError {
    /// Returns advice about a text that is not a URL, by its probable meaning.
    private static func advice(forURL text: String) -> LocalizableText {
        let example: LocalizableText = "Write it in full, such as https://example.org/image.jpg."
        let shown = CredentialRedaction.removingAll(from: text)
        let isPlain = !shown.isEmpty && shown == text && !text.contains("://") && !text.utf8.contains { $0 <= 0x20 }
        if text.hasPrefix("/"), !text.hasPrefix("//") {
            return "For a file, write \(URL(filePath: text).absoluteString)."
        }
        let host = text.prefix { $0 != "/" }
        let hasScheme = ["http:", "https:"].contains { text.lowercased().hasPrefix($0) }
        guard isPlain, !hasScheme, !text.hasPrefix("/"), host.contains(where: { $0 == "." || $0 == ":" }) else {
            return example
        }
        return "Did you mean \(isLocal(host) ? "http" : "https")://\(text)?"
    }

    private static func isLocal(_ host: Substring) -> Bool {
        host.contains(":") || host.hasPrefix("localhost") || host.hasPrefix("127.") || host.hasPrefix("192.168.")
            || host.hasPrefix("10.")
    }

    private static func problem(ofStatus code: Int) -> LocalizableText {
        switch code {
        case 401, 407: "the server responded with status \(code) (credentials are required)."
        case 403: "the server responded with status \(code) (access is denied)."
        case 404, 410: "the server responded with status \(code) (not found)."
        case 408, 429: "the server responded with status \(code) (the server is busy)."
        case 500...: "the server responded with status \(code) (the server has a problem)."
        default: "the server responded with status \(code)."
        }
    }

    private static func advice(forStatus code: Int) -> LocalizableText? {
        switch code {
        case 401, 407: "Add a credential for this host."
        case 404, 410: "Check the address."
        case 408, 429, 500...: "Try again later."
        default: nil
        }
    }

    /// Whether the image turned out to be a web page, such as that of a network which wants a password first.
    public var isWebPage: Bool {
        guard case .unrecognizedFormat(let contentType, let bytes, _) = self else { return false }
        return Self.isWebPage(contentType: contentType, leadingBytes: bytes)
    }

    private static func isWebPage(contentType: String?, leadingBytes: [UInt8]) -> Bool {
        let text = String(decoding: leadingBytes, as: UTF8.self).lowercased()
        return text.contains("<!doctype") || text.contains("<html") || contentType?.hasPrefix("text/html") == true
    }

    private static func problem(contentType: String?, leadingBytes: [UInt8]) -> LocalizableText {
        if isWebPage(contentType: contentType, leadingBytes: leadingBytes) {
            guard let contentType else { return "this is a web page, not an image." }
            return "this is a web page, not an image (the server declares \(contentType))."
        }
        let digits = leadingBytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        let start: LocalizableText = digits.isEmpty ? "nothing" : "\(digits.joined(separator: " "))"
        guard let contentType else { return "the data is not an image in a known format; it begins with \(start)." }
        return
            "the data is not an image in a known format (the server declares \(contentType)); it begins with \(start)."
    }
}
