internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

extension WebImageError {
    /// Describes the error of an argument, with advice on the options of the tool instead of the library's API.
    ///
    /// - Parameters:
    ///   - argument: the text on the command line; `nil` for an error that is not about an argument.
    ///   - decoding: how the command decodes it, for an error of decoding.
    func shellText(about argument: String? = nil, decoding: DecodingSettings? = nil) -> LocalizableText {
        var parts: [LocalizableText] = []
        if let argument, !isQuoting { parts.append("\(ImageInput.displayName(of: argument))") }
        if let subject, !(argument.map { isAbout($0, subject: subject) } ?? false) { parts.append("\(subject)") }
        let text = LocalizableText.joined(parts + [shellProblem], by: ": ")
        let advice: LocalizableText? =
            isRefusedReplacement(of: argument) ? "It is the input; choose another name." : shellAdvice(decoding)
        return advice.map { "\(text) \($0)" } ?? text
    }

    /// The same about an input that is decoded.
    func shellText(of decoding: DecodingSettings) -> LocalizableText {
        shellText(about: decoding.input.argument.description, decoding: decoding)
    }

    /// The same in English, for scripts.
    func shellDescription(about argument: String? = nil, decoding: DecodingSettings? = nil) -> String {
        CredentialRedaction.removingUserInformation(from: shellText(about: argument, decoding: decoding).english)
    }

    /// Whether the output would have replaced the input, which must not be removed.
    private func isRefusedReplacement(of argument: String?) -> Bool {
        guard case .file(let path, EEXIST) = self, let argument,
            let input = try? ImageInput(SystemString(argument)).path
        else { return false }
        return OutputFile.isSameFile(input, SystemString(path))
    }

    /// Whether the sentence contains the argument.
    private var isQuoting: Bool {
        if case .invalidURL(_, nil) = self { return true }
        return false
    }

    /// Whether `subject` is another name of the argument.
    private func isAbout(_ argument: String, subject: String) -> Bool {
        switch self {
        case .notInCache, .invalidURL: return true
        default:
            guard subject != argument, let url = try? ImageInput(SystemString(argument)).url else { return true }
            return subject == CredentialRedaction.removingUserInformation(fromURL: url.absoluteString)
                || subject == SystemString(fileURL: url)?.description
        }
    }

    private var shellProblem: LocalizableText {
        switch self {
        // The tool counts from 1.
        case .decoding(_, .page(let index, let count), _):
            return count == 1
                ? "there is no image \(index + 1); the file has one."
                : "there is no image \(index + 1); there are \(count)."
        case .limitExceeded(.pixels(let size, let limit), _) where !size.hasTooLongSide:
            let (width, height) = (PixelCount.grouped(size.width), PixelCount.grouped(size.height))
            return
                "\(width) × \(height) is \(PixelCount(size.pixelCount).text) pixels, more than the \(PixelCount(limit).text) allowed."
        case .limitExceeded(.memory(let byteCount, let limit), _):
            let (needed, allowed) = (ByteCount(byteCount).short, ByteCount(limit).short)
            return needed == allowed
                ? "decoding takes a bit more than \(needed) of memory; \(allowed) is allowed."
                : "decoding takes \(needed) of memory; \(allowed) is allowed."
        default: return problemText
        }
    }

    private func shellAdvice(_ decoding: DecodingSettings?) -> LocalizableText? {
        switch self {
        case .httpStatus(401, _): "Use --user NAME:PASSWORD."
        case .timedOut(.connecting, _, _), .timedOut(.idle, _, _): "Try again, or with a longer --idle-timeout."
        case .timedOut(.total, _, _): "Use a longer --max-time."
        case .certificate(.selfSigned, _), .certificate(.unknownIssuer, _):
            "If you know its authority, use --cacert FILE."
        case .invalidResponse(.contentCoding(let name), _) where ["gzip", "deflate"].contains(name):
            "Use --header 'Accept-Encoding: \(name)'."
        case .invalidResponse(.contentCoding, _):
            "Request gzip with an Accept-Encoding header, or configure the server to send images without coding."
        case .outOfResources(.memory, _) where decoding?.canScale == true: "Use --size to decode a smaller image."
        case .limitExceeded(.memory(let byteCount, let limit), _):
            decoding?.advice(forMemory: byteCount, allowed: limit)
        case .limitExceeded(.pixels(let size, _), _) where !size.hasTooLongSide:
            "For a file you trust: --\(InputLimits.optionName) \(PixelCount(size.pixelCount).sufficientLimit)."
        case .decoding(_, .truncated, _) where decoding?.limits.damage == .refused,
            .decoding(_, .corrupt, _) where decoding?.limits.damage == .refused:
            "To take what there is of it: --\(InputLimits.damageOptionName)."
        case .limitExceeded(.processorTime, _): "For a file you trust: a longer --\(InputLimits.timeOptionName)."
        case .invalidFrames(.size(_, _, let size)):
            "To bring all to one size: --size \(size.width)x\(size.height) --mode fill --enlarge."
        case .diskCache(_, .foreignDirectory): "Use another directory with --cache-dir."
        case .notInCache: "Use another --policy to load it."
        case .file(_, ENXIO): "Nothing reads from it."
        case .file(StandardInput.name, EFBIG):
            """
            From it come at most \(ByteCount(StandardInput.byteLimit).short). Write it to a file, which may be longer, and name that.
            """
        default: userAdviceText
        }
    }
}

extension PixelSize {
    /// Whether no limit allows it.
    fileprivate var hasTooLongSide: Bool { max(width, height) > PixelSize.maximumDimension }
}

extension WebImageError {
    /// `{"code":…,"message":…}`, with the message that is printed about the argument.
    func json(about argument: String) -> JSON { json(saying: shellDescription(about: argument)) }

    /// The same about an input that is decoded.
    func json(of decoding: DecodingSettings) -> JSON {
        json(saying: shellDescription(about: decoding.input.argument.description, decoding: decoding))
    }

    private func json(saying message: String) -> JSON { ["code": .integer(code), "message": .string(message)] }
}
