internal import Glibc
public import SystemText

// Each reason's text: `problem` ends a sentence, `advice` is one of its own.

extension WebImageError.RequestFailure {
    var problem: LocalizableText {
        switch self {
        case .unsupportedScheme(let scheme): "no loader handles '\(scheme)' URLs."
        case .unsupportedMethod(let method, true): "\(method) cannot have a body."
        case .unsupportedMethod(let method, false): "\(method) is not supported for this URL."
        case .invalidHeader(let name): "the header '\(name)' is invalid."
        case .invalidProxy(let variable): "the environment variable \(variable) does not name a usable proxy."
        }
    }

    var advice: LocalizableText {
        switch self {
        case .unsupportedScheme: "Use https or http, or add a loader for this scheme."
        case .unsupportedMethod(_, true): "Remove the body, or use POST."
        case .unsupportedMethod(_, false): "Use GET or HEAD."
        case .invalidHeader: "Names consist of letters, digits and hyphens; values contain no line breaks or NUL."
        case .invalidProxy: "Correct the variable, or unset it to load directly."
        }
    }
}

extension WebImageError.BlockReason {
    var problem: LocalizableText {
        switch self {
        case .scheme(let scheme): "the address policy does not allow the scheme '\(scheme)'."
        case .host(let host): "the address policy does not allow \(host)."
        case .unresolvedHost(let host): "the address policy cannot check \(host), since a proxy resolves it."
        case .redirect(let target): "the redirect policy does not allow the redirect to \(target.absoluteString)."
        case .insecureRedirect(let target): "the redirect to \(target.absoluteString) is not encrypted."
        case .hook: "a request modifier or the manager's shouldLoad hook refused the request."
        case .failedBefore(let code): "the URL has failed before (error \(code)) and is blocked for some minutes."
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .host:
            "If you trust the server, add its network to allowedNetworks of the AddressPolicy, or use a manager without a policy."
        case .insecureRedirect: "Allow downgrades if you trust the network."
        case .failedBefore: "Load it without respectsBlockList, or remove it from the block list."
        default: nil
        }
    }
}

extension WebImageError.TimeoutReason {
    func problem(after limit: Duration) -> LocalizableText {
        switch self {
        case .connecting: "no connection within \(limit.inWords)."
        case .idle: "nothing arrived for \(limit.inWords)."
        case .slow(let bytesPerSecond): "fewer than \(bytesPerSecond) bytes a second arrived during \(limit.inWords)."
        case .total: "the load took longer than \(limit.inWords)."
        case .offline: "there is no network, and none became available within \(limit.inWords)."
        }
    }

    var advice: LocalizableText {
        switch self {
        case .connecting: "Try again, or raise connectTimeout."
        case .idle: "Try again, or raise idleTimeout."
        case .slow: "Try again, or lower minimumBytesPerSecond."
        case .total: "Raise totalTimeout if the load may take longer."
        case .offline: "Connect, and try again."
        }
    }
}

extension WebImageError.CertificateFailure {
    var problem: LocalizableText {
        switch self {
        case .expired: "the server's certificate has expired."
        case .notYetValid: "the server's certificate is not valid yet."
        case .wrongHost: "the server's certificate is for another host."
        case .selfSigned: "the server's certificate is self-signed."
        case .unknownIssuer: "no trusted authority has signed the server's certificate."
        case .publicKeyNotPinned: "the server's public key matches no pinned key."
        case .other(let detail): "the server's certificate was rejected (\(detail))."
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .expired: "Tell the server's owner, and check this machine's clock."
        case .notYetValid: "Check this machine's clock."
        case .wrongHost: "Check the address."
        case .selfSigned, .unknownIssuer: "Add its authority to the trusted ones if you know it."
        case .publicKeyNotPinned: "The key is new, or another server responds."
        case .other: nil
        }
    }
}

extension WebImageError.ResponseFailure {
    var problem: LocalizableText {
        switch self {
        case .truncated(let expected?, let received): "the connection ended after \(received) of \(expected) bytes."
        case .truncated(nil, let received): "the connection ended early, after \(received) bytes."
        case .emptyBody: "the body is empty."
        case .bodyTooLong(let byteCount, let limit): "\(byteCount) bytes are more than the \(limit) allowed."
        case .headersTooLong(let limit): "the server's headers are longer than \(limit) bytes."
        case .tooManyRedirects(let limit): "the server redirected more than \(limit) times."
        case .tooManyInformationalResponses(let limit):
            "the server sent more than \(limit) informational (1xx) responses."
        case .contentType(let type): "the server sent '\(type)', which is not an acceptable content type."
        case .contentCoding(let name): "the body has the coding '\(name)', which is not supported or was not requested."
        case .decryption: "the decryptor could not decrypt the body."
        case .refused: "the response modifier refused the response."
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .truncated: "Try again."
        case .emptyBody, .refused: nil
        case .bodyTooLong: "Raise the limit if you trust the source."
        case .headersTooLong, .tooManyInformationalResponses: "This may be an attack."
        case .tooManyRedirects: "They may form a loop."
        case .contentType: "Check the address, or change acceptableContentTypes."
        case .contentCoding:
            "Request gzip with an Accept-Encoding header, or configure the server to send images without coding."
        case .decryption: "Check its key."
        }
    }
}

extension WebImageError.ResourceFailure {
    var problem: LocalizableText {
        switch self {
        case .memory(let byteCount): "\(byteCount) bytes of memory could not be allocated for the image."
        case .thread: "the system has no thread available."
        case .temporaryFile(let directory, let errno):
            "data that does not fit into memory could not be stored in \(directory) (\(systemError: errno))."
        }
    }

    var advice: LocalizableText {
        switch self {
        case .memory: "Load a thumbnail, or free memory."
        case .thread: "Try again, or raise the thread limit."
        case .temporaryFile: "Free space there, or choose another directory."
        }
    }
}

extension WebImageError.DecodingFailure {
    var problem: LocalizableText {
        switch self {
        case .truncated: "it ends too early"
        case .corrupt(let detail): "it is damaged (\(detail))"
        case .unsupported(let feature): "it uses \(feature), which is not supported"
        case .page(let page, let count):
            .counted(
                "it has \(count) image, not a page \(page)", "it has \(count) images, not a page \(page)", count)
        case .noDecoder: "no decoder for this format is registered"
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .truncated: "Load it again."
        case .page(_, let count): "Pages are numbered from 0 to \(max(count, 1) - 1)."
        case .noDecoder: "Use CodecRegistry.shared, and build webimage-decoder with this format."
        case .corrupt, .unsupported: nil
        }
    }
}

extension WebImageError.LimitFailure {
    private var isSideTooLong: Bool {
        guard case .pixels(let size, _) = self else { return false }
        return max(size.width, size.height) > PixelSize.maximumDimension
    }

    var problem: LocalizableText {
        switch self {
        case .pixels(let size, _) where isSideTooLong:
            "the image declares \(size) pixels; a side has at most \(PixelSize.maximumDimension)."
        case .pixels(let size, let limit): "the image declares \(size) pixels, more than the \(limit) allowed."
        case .side(let width, let height):
            "\(width)×\(height) is not a valid size; sides are 1 to \(PixelSize.maximumDimension) pixels long."
        case .frames(let limit): "the animation has more than the \(limit) frames allowed."
        case .animation(let byteCount, let limit):
            "the animation's frames take \(byteCount) bytes, more than the \(limit) allowed."
        case .scans(let limit): "the progressive JPEG has more than the \(limit) scans allowed."
        case .metadata(let byteCount, let limit):
            "the file has \(byteCount) bytes or more of metadata; \(limit) are allowed."
        case .memory(let byteCount, let limit):
            "decoding the image takes \(byteCount) bytes of memory; \(limit) are allowed."
        case .processorTime(let limit):
            "decoding the image took more than the \(limit.inWords) of processor time allowed."
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .pixels where isSideTooLong: nil
        case .side: nil
        case .animation: "Load the first frame only, or raise the limit if you trust the source."
        case .memory: "Load a thumbnail, or raise DecodingLimits.memoryByteCount if you trust the source."
        case .scans: "This may be an attack. Raise the limit if you trust the source."
        case .pixels, .frames, .metadata, .processorTime: "Raise the limit if you trust the source."
        }
    }
}

extension WebImageError.EncodingFailure {
    var problem: LocalizableText {
        switch self {
        case .noEncoder: "no registered encoder supports the format"
        case .tooLarge(let size, let limit): "\(size) pixels exceed the format's limit of \(limit) for a side"
        case .noAnimation: "the format does not support animation"
        case .frameNumber(let number, let frameCount): "there is no frame \(number) of \(frameCount)"
        case .tooLong(let byteCount, let limit):
            "the smallest result has \(byteCount) bytes, more than the \(limit) allowed"
        case .invalidMetadata: "the EXIF data does not begin with a TIFF header"
        case .metadataTooLong(let byteCount, let limit):
            "the format allows \(limit) bytes of EXIF or XMP, and these are \(byteCount)"
        case .codec(let detail): "the codec failed (\(detail))"
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .metadataTooLong: "Write it without, or choose PNG, WebP or AVIF."
        case .noAnimation: "Write a single frame, or choose GIF, PNG, WebP, AVIF or JPEG XL."
        case .tooLong: "Allow more bytes."
        case .noEncoder, .tooLarge, .frameNumber, .invalidMetadata, .codec: nil
        }
    }
}

extension WebImageError.IsolationFailure {
    /// What went wrong, as the end of a sentence.
    public var problem: LocalizableText {
        switch self {
        case .crashed(let signal): "its process was ended by \(Self.name(ofSignal: signal))"
        case .ended: "its process ended in the middle of the image"
        case .timedOut(let limit): "its process did not finish within \(limit.inWords)"
        case .invalidReply(let detail): "its process returned an invalid result (\(detail))"
        case .unavailable(let detail): "no process can handle it: \(detail)"
        case .startTimedOut(let limit): "its process was not ready within \(limit.inWords)"
        case .missingLayers(let layers): "its sandbox lacks \(layers.sorted().joined(separator: ", "))"
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .crashed, .ended, .invalidReply: "The file may be damaged or hostile. Nothing of it was kept."
        case .timedOut: nil
        case .unavailable:
            """
            Add .product(name: "webimage-decoder", package: "swift-web-image") to the dependencies of the program's target, which builds \
            webimage-decoder beside it, install it with its libraries, or set IsolatedDecoding.Configuration.path.
            """
        case .startTimedOut: "The machine may have too much work. Try again."
        case .missingLayers: "Require fewer layers, or allow this program to make namespaces."
        }
    }

    private static func name(ofSignal signal: Int32) -> LocalizableText {
        switch signal {
        case SIGSEGV: "SIGSEGV, a memory error"
        case SIGABRT: "SIGABRT, the codec aborted"
        case SIGKILL: "SIGKILL"
        case SIGXCPU: "SIGXCPU, too much processor time"
        case SIGBUS: "SIGBUS, a memory error"
        case SIGILL, SIGTRAP: "a failed check (signal \(signal))"
        case SIGSYS: "SIGSYS, a system call that is not allowed"
        default: "signal \(signal)"
        }
    }
}

extension WebImageError.FrameFailure {
    var problem: LocalizableText {
        switch self {
        case .none: "there are no frames"
        case .durationCount(let count, let frameCount): "there are \(count) durations for \(frameCount) frames"
        case .duration(let duration, let frame): "the duration of frame \(Self.number(frame)) is \(duration.inWords)"
        case .size(let size, let frame, let expected):
            "frame \(Self.number(frame)) has \(size) pixels, the first has \(expected)"
        case .outsideSheet(let rect, let frame, let sheet):
            "the rectangle of frame \(Self.number(frame)), \(rect.text), is empty or not inside the sheet of \(sheet) pixels"
        }
    }

    /// Users count from 1.
    private static func number(_ frame: Int) -> Int { frame == .max ? frame : frame + 1 }

    var advice: LocalizableText? {
        switch self {
        case .none: "Add at least one."
        case .durationCount: "Give one for each frame, or one for all."
        case .duration: "Give 0 or more."
        case .size: "Make all frames the same size."
        case .outsideSheet: nil
        }
    }
}

extension WebImageError.ProcessingFailure {
    var problem: LocalizableText {
        switch self {
        case .invalidParameter(let name, let value): "'\(name)' cannot be \(value)"
        case .emptyResult: "no pixels would be left"
        case .resultTooLarge(let size, _, let limit) where max(size.width, size.height) > limit:
            "\(size) exceeds the \(limit) pixels a side that cairo supports"
        case .resultTooLarge(let size, let limit, _): "the result would have \(size) pixels; \(limit) are allowed"
        case .noFont(nil): "no font is installed"
        case .noFont(let emoji?): "no installed font has \(emoji) in color"
        case .failed(let detail): LocalizableText(verbatim: detail)
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .emptyResult: "Choose an area inside the image."
        case .resultTooLarge: "Make the image smaller first."
        case .noFont(nil): "Install one, such as Debian's fonts-dejavu-core."
        case .noFont: "Install one, such as Debian's fonts-noto-color-emoji."
        case .invalidParameter, .failed: nil
        }
    }
}

extension WebImageError.DiskCacheFailure {
    var problem: LocalizableText {
        switch self {
        case .system(let errno): "cannot be used (\(systemError: errno)); images load without it"
        case .corruptIndex(let path): "had a damaged index, which was moved to \(path); the cache starts empty"
        case .index(let code, let message): "cannot be used (SQLite \(code): \(message)); images load without it"
        case .corruptValue(let path): "had damaged bytes in \(path); their entry was removed"
        case .obstructed(let path):
            "had something other than a regular file in place of one of its files; it was moved to \(path)"
        case .foreignDirectory(let owner):
            "belongs to user \(owner), who could put anything into it; images load without it"
        case .attributesTooLarge(let byteCount, let limit):
            "was given \(byteCount) bytes of attributes; at most \(limit) are allowed, so nothing was stored"
        case .archiving(let key, let message):
            "could not store the value for \(key), since archiving it failed: \(message)"
        case .unarchiving(let key, let message):
            "could not unarchive the value for \(key), which counts as missing: \(message)"
        }
    }

    var advice: LocalizableText? {
        switch self {
        case .foreignDirectory:
            "Give the directory to the user of this process, or choose another one."
        case .archiving, .unarchiving: "Check its archiver."
        default: nil
        }
    }
}
