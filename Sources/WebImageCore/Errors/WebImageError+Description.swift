internal import CWebImageSystem

extension WebImageError: CustomStringConvertible {
    /// What happened, and what to do about it. Never contains the user name or password of a URL.
    public var description: String {
        CredentialRedaction.removingUserInformation(from: fullDescription)
    }

    private var fullDescription: String {
        switch self {
        case .invalidURL(let text):
            "'\(CredentialRedaction.removingAll(from: text))' is not a URL that can be loaded. "
                + "Write it in full, such as https://example.org/picture.jpg."
        case .invalidDataURL(let reason):
            "The data: URL can't be read: \(reason). It should look like data:image/png;base64,iVBORw0KGgo…"
        case .unsupportedScheme(let scheme, let url):
            "\(url.absoluteString): nothing here loads '\(scheme)' URLs. Use http, https, file or data, or add a loader."
        case .invalidHeader(let name):
            "The header '\(name)' can't be sent: names take letters, digits and hyphens, values no line breaks or NUL."
        case .unsupportedMethod(let method, let hasBody, let url):
            hasBody
                ? "\(url.absoluteString): a \(method) can't have a body. Leave it out, or use POST."
                : "\(url.absoluteString): nothing here does \(method) with such a URL. Use GET or HEAD."
        case .cancelled:
            "The load was cancelled."
        case .httpStatus(let code, let url):
            "\(url.absoluteString): the server answered \(code)\(Self.advice(forStatus: code))"
        case .transport(let code, let message, let url):
            "\(url.absoluteString): \(message) (transport code \(code)). Check the address and the network."
        case .timedOut(let reason, let seconds, let url):
            "\(url.absoluteString): \(reason.description(seconds: seconds))"
        case .offline(let seconds, let url):
            "\(url.absoluteString): there is no network, and none came up within \(seconds) s. Connect, and try again."
        case .tooManyRedirects(let limit, let url):
            "\(url.absoluteString): more than \(limit) redirects; the server may be sending them in a circle."
        case .truncated(let expected?, let received, let url):
            "\(url.absoluteString): the connection ended after \(received) of \(expected) bytes. Try again."
        case .truncated(nil, let received, let url):
            "\(url.absoluteString): the connection ended in the middle, after \(received) bytes. Try again."
        case .emptyBody(let url):
            "\(url.absoluteString): the server sent an empty body instead of a picture."
        case .responseTooLarge(let byteCount, let limit, let url):
            "\(url.absoluteString): \(byteCount) bytes are more than the \(limit) allowed. Raise the limit if you trust it."
        case .certificate(let reason, let url):
            "\(url.absoluteString): \(reason.description)"
        case .redirectDenied(let source, let target, .downgrade):
            "\(source.absoluteString) redirects to \(target.absoluteString), which is not encrypted. "
                + "Allow downgrades if that is what you want."
        case .redirectDenied(let source, let target, .denied):
            "\(source.absoluteString) redirects to \(target.absoluteString), which the redirect policy forbids."
        case .blocked(let url, .failedBefore(let code)):
            "\(url.absoluteString) has failed before (error \(code)) and is on the block list for some minutes. "
                + "Load it without ignoresFailedURLs, or remove it from the list."
        case .blocked(let url, let cause):
            "\(url.absoluteString): the address policy forbids \(cause.description)."
        case .dataProvider(let id, let reason):
            "The closure that gives the bytes of '\(id)' failed: \(reason)"
        case .requestRefused(let url):
            "\(url.absoluteString): a request modifier, or the manager's shouldLoad, refused this request."
        case .responseRefused(let url):
            "\(url.absoluteString): the response modifier refused the server's answer."
        case .unacceptableContentType(let type, let url):
            "\(url.absoluteString): the server sent '\(type)', which is not among the acceptable content types."
        case .unsupportedContentCoding(let name, let url):
            "\(url.absoluteString): the body is coded as '\(name)', which can't be decoded here or was not asked for. "
                + "Allow gzip with acceptsContentCodings, or have the server send pictures as they are."
        case .decryptionFailed(let url):
            "\(url.absoluteString): the decryptor could make nothing of the body. Check its key."
        case .temporaryFile(let directory, let errno):
            "Data that does not fit into memory could not be stored in \(directory): \(Self.systemMessage(errno)). Free space there, or choose "
                + "another directory."
        case .invalidProxy(let variable, let url):
            "\(url.absoluteString): the environment variable \(variable) names no proxy that can be used. Correct it, or "
                + "unset it to load directly."
        case .noThread(let url):
            "\(url.absoluteString): the system has no thread left to load it on. Try again, or raise the thread limit."
        case .headersTooLarge(let limit, let url):
            "\(url.absoluteString): the server's headers are longer than \(limit) bytes; this looks like an attack."
        case .tooManyInformationalResponses(let limit, let url):
            "\(url.absoluteString): the server sent more than \(limit) informational (1xx) responses; "
                + "this looks like an attack."
        case .file(let path, let errno):
            "\(path): \(Self.systemMessage(errno))."
        case .unrecognizedFormat(let contentType, let leadingBytes):
            Self.describeUnrecognized(contentType: contentType, leadingBytes: leadingBytes)
        case .decoding(let format, let reason):
            "The \(format) data could not be decoded: \(reason.description)"
        case .encoding(let format, let reason):
            "The picture could not be written as \(format): \(reason.description)"
        case .imageTooLarge(let size, let limit):
            Self.describeTooLarge(size, pixelLimit: limit)
        case .tooManyFrames(let limit):
            "The animation has more than the \(limit) frames allowed. Raise the limit if you trust it."
        case .animationTooLarge(let byteCount, let limit):
            "The animation's frames make \(byteCount) bytes, more than the \(limit) allowed. Ask for the first frame "
                + "only, or raise the limit if you trust it."
        case .tooManyScans(let limit):
            "The progressive JPEG has more than the \(limit) scans allowed; this looks like an attack. "
                + "Raise the limit if you trust it."
        case .decodingTimedOut(let seconds):
            "The picture took more than the \(seconds) s of processor time allowed. Raise the limit if you trust it."
        case .metadataTooLarge(let byteCount, let limit):
            "The file holds \(byteCount) bytes or more beside its pictures, and \(limit) are allowed. "
                + "Raise the limit if you trust it."
        case .decodingMemoryExceeded(let byteCount, let limit):
            "Decoding the image takes \(byteCount) bytes of memory, and \(limit) are allowed. Ask for a thumbnail, or raise "
                + "DecodingLimits.memoryByteCount if you trust the image."
        case .invalidSize(let width, let height):
            "\(width)×\(height) is no size a picture can have; sides run from 1 to "
                + "\(MutablePixelBuffer.maximumDimension)."
        case .outOfMemory(let byteCount):
            "The system has no \(byteCount) bytes for the picture. Ask for a thumbnail, or free memory."
        case .invalidAnimation(let reason):
            "The frames make no animation: \(reason.description)"
        case .processing(let identifier, let reason):
            "The picture could not be processed by \(identifier): \(reason.description)"
        case .invalidPlaceholderHash(let text, let reason):
            "'\(text.prefix(200))' is no placeholder hash: \(reason.description)"
        case .drawing(let reason):
            "The picture could not be drawn: \(reason.description)"
        case .notInCache(let key):
            "\(key) is not in the cache, and the request allows no other source."
        case .diskCache(let path, let reason):
            "The disk cache at \(path) \(reason.description)"
        case .archiving(let key, let reason):
            "The value for \(key) could not be turned into bytes (\(reason)), so it was not cached. Check its archiver."
        case .damagedCacheEntry(let key, let reason):
            "What the cache held for \(key) could not be read and counts as missing: \(reason)"
        }
    }

    private static func advice(forStatus code: Int) -> String {
        switch code {
        case 401, 407: ": it wants credentials."
        case 403: ": it refuses access."
        case 404, 410: ": there is no such file. Check the address."
        case 408, 429: ": it is busy. Try again later."
        case 500...: ": it has trouble of its own. Try again later."
        default: " instead of a picture."
        }
    }

    private static func describeTooLarge(_ size: PixelSize, pixelLimit: Int) -> String {
        let longest = MutablePixelBuffer.maximumDimension
        if max(size.width, size.height) > longest {
            return "The picture claims \(size) pixels; a side can have \(longest) at most. It was not decoded."
        }
        return "The picture claims \(size) pixels, more than the \(pixelLimit) allowed; it was not decoded. "
            + "Raise the limit if you trust it."
    }

    private static func describeUnrecognized(contentType: String?, leadingBytes: [UInt8]) -> String {
        let text = String(decoding: leadingBytes, as: UTF8.self).lowercased()
        let isPage = text.contains("<!doctype") || text.contains("<html") || contentType?.hasPrefix("text/html") == true
        let name = contentType.map { ", called \($0) by the server" } ?? ""
        if isPage {
            return "The answer is a web page, not a picture\(name). Check the address, or whether it needs a log-in."
        }
        let shown = leadingBytes.prefix(8).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "The data is in no format a registered decoder reads\(name); it begins with "
            + (shown.isEmpty ? "nothing." : shown.joined(separator: " ") + ".")
    }

    /// The C library's message for an error number, such as "No such file or directory".
    package static func systemMessage(_ errno: Int32) -> String {
        cwi_error_description(errno).map { String(cString: $0) } ?? "system error \(errno)"
    }
}

extension WebImageError.CertificateFailure: CustomStringConvertible {
    /// The reason and what to do about it.
    public var description: String {
        switch self {
        case .expired: "the server's certificate has expired. Tell its owner; also check this machine's clock."
        case .notYetValid: "the server's certificate is not valid yet. Check this machine's clock."
        case .wrongHost: "the server's certificate is for another host. Check the address."
        case .selfSigned: "the server signed its certificate itself. Add it to the trusted authorities if you know it."
        case .unknownIssuer: "nobody trusted signed the server's certificate. Add its authority if you know it."
        case .publicKeyNotPinned:
            "the server's public key is none of those pinned: it is new, or another server answers."
        case .authoritiesUnreadable(let detail): "the trusted authorities can't be read (\(detail)). Check their file."
        case .other(let detail): "the server's certificate was refused (\(detail))."
        }
    }
}

extension WebImageError.TimeoutReason {
    /// The reason with its limit, and how to change the limit.
    fileprivate func description(seconds: Double) -> String {
        switch self {
        case .connecting:
            "no connection within \(seconds) s. Try again, or raise the limit (connectTimeout)."
        case .idle:
            "nothing arrived for \(seconds) s. Try again, or raise the limit (idleTimeout)."
        case .slow(let bytesPerSecond):
            "fewer than \(bytesPerSecond) bytes a second arrived during \(seconds) s. "
                + "Try again, or lower the limit (minimumBytesPerSecond)."
        case .total:
            "the load took longer than \(seconds) s. Raise the limit (totalTimeout) if it may take longer."
        }
    }
}

extension WebImageError.BlockCause: CustomStringConvertible {
    /// What is blocked.
    public var description: String {
        switch self {
        case .scheme(let scheme): "the scheme '\(scheme)'"
        case .host(let host): "the host \(host)"
        case .address(let address): "the address \(address)"
        case .unresolvedHost(let host): "hosts whose address the proxy hides (\(host))"
        case .failedBefore(let code): "what has failed before (error \(code))"
        }
    }
}

extension WebImageError.DecodingFailure: CustomStringConvertible {
    /// The reason as the end of a sentence.
    public var description: String {
        switch self {
        case .truncated: "it ends too early. Fetch it again."
        case .corrupt(let detail): "it is damaged (\(detail))."
        case .unsupported(let feature): "it uses \(feature), which is not supported."
        }
    }
}

extension WebImageError.EncodingFailure: CustomStringConvertible {
    /// The reason as the end of a sentence.
    public var description: String {
        switch self {
        case .noEncoder:
            "no registered encoder writes it."
        case .tooLarge(let size, let limit):
            "\(size) is more than the \(limit) pixels a side that the format holds."
        case .noAnimation:
            "it holds no animation. Write a single frame, or choose GIF, PNG or WebP."
        case .noFrames:
            "there are no frames. Give one at least."
        case .duration(let seconds, let frame):
            "frame \(frame) is to be shown for \(seconds) s. Give 0 or more."
        case .frameSize(let size, let frame, let expected):
            "frame \(frame) is of \(size) pixels, the first of \(expected). Bring all to one size."
        case .frameNumber(let number, let frameCount):
            "there is no frame \(number) of \(frameCount)."
        case .tooLong(let byteCount, let limit):
            "\(byteCount) bytes are the least that was reached, more than the \(limit) allowed. Allow more."
        case .codec(let detail):
            "the codec failed (\(detail))."
        }
    }
}

extension WebImageError.AnimationFault: CustomStringConvertible {
    /// The reason as the end of a sentence.
    public var description: String {
        switch self {
        case .noFrames:
            "there are none. Give one at least."
        case .durationCount(let count, let frameCount):
            "there are \(count) durations for \(frameCount) frames. Give one for each, or one for all."
        case .duration(let seconds, let frame):
            "frame \(frame) is to be shown for \(seconds) s. Give 0 or more."
        case .frameSize(let size, let frame, let expected):
            "frame \(frame) is of \(size) pixels, the first of \(expected). Bring all to one size."
        case .outsideSheet(let rect, let frame, let sheet):
            "frame \(frame), \(rect), has no pixels or does not lie in the sheet of \(sheet) pixels."
        }
    }
}

extension WebImageError.ProcessingFailure: CustomStringConvertible {
    /// The reason as the end of a sentence.
    public var description: String {
        switch self {
        case .invalidParameter(let name, let value):
            "its '\(name)' can't be \(value). Choose another."
        case .emptyResult:
            "nothing of the picture would be left. Choose an area that it covers."
        case .resultTooLarge(let size, let limit):
            "the result would have \(size) pixels, and \(limit) are the most. Make the picture smaller first."
        case .failed(let detail):
            "it failed (\(detail))."
        }
    }
}

extension WebImageError.PlaceholderHashFailure: CustomStringConvertible {
    /// The reason as the end of a sentence.
    public var description: String {
        switch self {
        case .wrongLength(let byteCount, let expected):
            "it has \(byteCount) bytes where its beginning asks for \(expected). Store it whole."
        case .invalidCharacter(let offset):
            "byte \(offset) is no digit of one. Store it unchanged."
        case .valueOutOfRange(let offset):
            "what stands at byte \(offset) is out of range. Make it anew from the picture."
        }
    }
}

extension WebImageError.DrawingFailure: CustomStringConvertible {
    /// The reason as the end of a sentence.
    public var description: String {
        switch self {
        case .invalidNumber(let name, let value):
            "its \(name) can't be \(value). Choose another."
        case .tooLarge(let size, let limit):
            "\(size) is more than the \(limit) pixels a side that cairo draws on."
        case .unbalancedRestore:
            "it restores a state that it has not saved. Pair each restore with a save."
        case .textTooLong(let byteCount, let limit):
            "its text has \(byteCount) bytes; \(limit) are the most. Shorten it."
        case .notAnEmoji(let text):
            "'\(text.prefix(50))' is not one emoji."
        case .noFont:
            "no font is installed. Install one, such as Debian's fonts-dejavu-core."
        case .noColorFont(let emoji):
            "no installed font has \(emoji) in colour. Install one, such as Debian's fonts-noto-color-emoji."
        case .cairo(let status, let message):
            "cairo failed (\(message), status \(status))."
        case .failed(let detail):
            "it failed (\(detail))."
        }
    }
}

extension WebImageError.DiskCacheFailure: CustomStringConvertible {
    /// The reason as the end of a sentence.
    public var description: String {
        switch self {
        case .system(let errno):
            "can't be used (\(WebImageError.systemMessage(errno))); pictures load without it."
        case .corruptIndex(let path):
            "had a damaged index. It was moved to \(path), and the cache starts empty."
        case .index(let code, let message):
            "can't be used (SQLite \(code): \(message)); pictures load without it."
        case .corruptValue(let path):
            "had damaged bytes in \(path). What they belonged to was removed and loads anew."
        case .obstructed(let path):
            "contained something other than a regular file in place of a cache file. It was moved to \(path)."
        case .foreignDirectory(let owner):
            "belongs to user \(owner), who could put anything into it, so images load without it. Give the directory to "
                + "the user of this process, or set DiskCache.Configuration.allowsForeignDirectory."
        case .attributesTooLarge(let byteCount, let limit):
            "was given \(byteCount) bytes to keep beside a value; \(limit) are the most, so nothing was stored."
        }
    }
}
