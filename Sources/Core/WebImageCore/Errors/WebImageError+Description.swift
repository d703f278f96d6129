internal import CWebImageSystem
internal import Glibc
public import FoundationEssentials

extension WebImageError: LocalizedError, CustomStringConvertible {
    /// The error and advice, for logs and messages. Never contains the user name or password of a URL.
    public var description: String { description(advice: recoverySuggestion) }

    /// The error, with the URL. Never contains a user name or password.
    public var errorDescription: String? {
        let text = problem
        return CredentialRedaction.removingUserInformation(
            from: subject.map { "\($0): \(text)" } ?? text.prefix(1).uppercased() + text.dropFirst())
    }

    /// Returns the error, with other advice than the library's.
    package func description(advice: String?) -> String {
        [errorDescription, advice].compactMap(\.self).joined(separator: " ")
    }

    /// The library's advice, if any.
    public var recoverySuggestion: String? { advice.map(CredentialRedaction.removingUserInformation(from:)) }

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
    public var problem: String {
        switch self {
        case .invalidURL("", _): "no URL was given."
        case .invalidURL(let text, nil): "'\(CredentialRedaction.removingAll(from: text))' is not a valid URL."
        case .invalidURL(_, let reason?): "\(reason)."
        case .invalidRequest(let reason, _): reason.problem
        case .blocked(let reason, _): reason.problem
        case .cancelled: "the load was cancelled."
        case .httpStatus(let code, _): "the server responded with status \(code)\(Self.meaning(ofStatus: code))."
        case .transport(let code, let message, _): "\(message) (transport code \(code))."
        case .timedOut(let reason, let limit, _): reason.problem(after: limit)
        case .certificate(let reason, _): reason.problem
        case .invalidResponse(let reason, _): reason.problem
        case .file(_, ENODATA): "the file is empty."
        case .file(_, let errno): "\(Self.systemMessage(errno))."
        case .outOfResources(let reason, _): reason.problem
        case .unrecognizedFormat(let contentType, let bytes, _):
            Self.problem(contentType: contentType, leadingBytes: bytes)
        case .decoding(let format, let reason, _):
            "the \(format.name) data could not be decoded: \(reason.problem.asEnd)"
        case .limitExceeded(let reason, _): reason.problem
        case .encoding(let format, let reason):
            "the image could not be encoded as \(format.name): \(reason.problem.asEnd)"
        case .isolation(let format, let reason, _):
            "the \(format.name) image could not be processed in isolation: \(reason.problem.asEnd)"
        case .invalidFrames(let reason): "the frames cannot form an animation: \(reason.problem)."
        case .processing("drawing", let reason, _): "the drawing failed: \(reason.problem.asEnd)"
        case .processing(let identifier, let reason, _): "the processor \(identifier) failed: \(reason.problem.asEnd)"
        case .notInCache: "not in the cache, and the request allows no other source."
        case .diskCache(_, let reason): "the disk cache \(reason.problem.asEnd)"
        case .custom(let id, let message): "'\(id)' could not be provided: \(message.asEnd)"
        }
    }

    private var advice: String? {
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

    /// The C library's message for an error number, such as "No such file or directory".
    package static func systemMessage(_ errno: Int32) -> String {
        cwi_error_description(errno).map { String(cString: $0) } ?? "system error \(errno)"
    }
}

extension WebImageError {
    /// Returns advice about a text that is not a URL, by its probable meaning.
    private static func advice(forURL text: String) -> String {
        let example = "Write it in full, such as https://example.org/image.jpg."
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

    private static func meaning(ofStatus code: Int) -> String {
        switch code {
        case 401, 407: " (credentials are required)"
        case 403: " (access is denied)"
        case 404, 410: " (not found)"
        case 408, 429: " (the server is busy)"
        case 500...: " (the server has a problem)"
        default: ""
        }
    }

    private static func advice(forStatus code: Int) -> String? {
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

    private static func problem(contentType: String?, leadingBytes: [UInt8]) -> String {
        let name = contentType.map { " (the server declares \($0))" } ?? ""
        if isWebPage(contentType: contentType, leadingBytes: leadingBytes) {
            return "this is a web page, not an image\(name)."
        }
        let digits = leadingBytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return
            "the data is not an image in a known format\(name); it begins with \(digits.isEmpty ? "nothing" : digits.joined(separator: " "))."
    }
}

extension String {
    /// The text as the end of a sentence: with a full stop, unless it has its own end. Messages of programs and
    /// libraries end either way.
    fileprivate var asEnd: String {
        let text = String(self[..<(lastIndex { !$0.isWhitespace }.map(index(after:)) ?? startIndex)])
        return text.last.map { ".!?…".contains($0) } == true ? text : text + "."
    }
}
