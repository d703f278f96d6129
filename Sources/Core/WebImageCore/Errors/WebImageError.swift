public import FoundationEssentials

/// All errors of the library, with the facts about their cause.
///
/// ```swift
/// do {
///     show(try await manager.image(at: url))
/// } catch .cancelled {
///     // The task was cancelled.
/// } catch {
///     print(error)  // what happened, and what to do
/// }
/// ```
///
/// ``description`` says what happened and what to do about it; `errorDescription` and `recoverySuggestion` are its two
/// parts. ``code`` is a number that is stable across releases, and ``url`` the URL that the error is about.
public indirect enum WebImageError: Error, Sendable, Equatable {
    // MARK: The request

    /// The text is not a URL, or is a URL without a host. For a `data:` URL, `reason` says what is wrong with its
    /// content.
    case invalidURL(String, reason: String? = nil)
    /// The request cannot be sent.
    case invalidRequest(reason: RequestFailure, url: URL)
    /// The address policy, the redirect policy, a hook or the block list does not allow the request. Nothing was sent
    /// to `url`, except that the server at `url` was contacted before it redirected.
    case blocked(reason: BlockReason, url: URL)
    /// The caller cancelled, or all callers that shared the load did.
    case cancelled

    // MARK: Loading

    /// The server responded with an error status.
    case httpStatus(code: Int, url: URL)
    /// The connection failed; `code` and `message` are libcurl's.
    case transport(code: Int, message: String, url: URL)
    /// The load reached the time limit `after`.
    case timedOut(reason: TimeoutReason = .idle, after: Duration, url: URL)
    /// The server's identity could not be verified.
    case certificate(reason: CertificateFailure, url: URL)
    /// The response cannot be used.
    case invalidResponse(reason: ResponseFailure, url: URL)
    /// A file could not be read or written; `errno` is the system's number. `ENODATA` stands for an empty file.
    case file(path: String, errno: Int32)
    /// The system has no memory, thread or temporary file for the load.
    case outOfResources(reason: ResourceFailure, url: URL? = nil)

    // MARK: Coding

    /// The leading bytes match no registered format. `contentType` is the type that the server declared.
    case unrecognizedFormat(contentType: String?, leadingBytes: [UInt8], url: URL? = nil)
    /// The bytes are damaged, or use a feature that the decoder does not support.
    case decoding(format: ImageFormat, reason: DecodingFailure, url: URL? = nil)
    /// The image exceeds one of the `DecodingLimits`.
    case limitExceeded(reason: LimitFailure, url: URL? = nil)
    /// The image could not be encoded in that format.
    case encoding(format: ImageFormat, reason: EncodingFailure)
    /// The frames cannot form an animation.
    case invalidFrames(reason: FrameFailure)
    /// The process that decodes or encodes the image, apart from this one, failed with it or cannot be had. Other
    /// images are not affected.
    case isolation(format: ImageFormat, reason: IsolationFailure, url: URL? = nil)

    // MARK: Processing

    /// The processor or drawing with that identifier failed.
    case processing(identifier: String, reason: ProcessingFailure, url: URL? = nil)

    // MARK: Caching

    /// The image is not cached, and the request allows no other source.
    case notInCache(key: String)
    /// The disk cache cannot be used at present, or had to be repaired; loads continue without it.
    case diskCache(path: String, reason: DiskCacheFailure)
    /// A closure that provides a request's bytes or image failed, or a custom loader; `id` says for what, `message` why.
    case custom(id: String, message: String)

    /// Why a request cannot be sent.
    public enum RequestFailure: Sendable, Hashable {
        /// No loader handles URLs of this scheme.
        case unsupportedScheme(String)
        /// The loader for this URL does not support the method; if `hasBody`, it does not support the method with a
        /// body.
        case unsupportedMethod(String, hasBody: Bool)
        /// The name of a header is not a token, or its value contains a line break or NUL.
        case invalidHeader(name: String)
        /// The environment's `variable` does not name a usable proxy.
        case invalidProxy(variable: String)
    }

    /// Why a request is not allowed.
    public enum BlockReason: Sendable, Hashable {
        /// The address policy does not allow the URL's scheme.
        case scheme(String)
        /// The address policy does not allow the URL's host, or the IP address that it resolves to.
        case host(String)
        /// The host's address cannot be checked, since a proxy connects to it.
        case unresolvedHost(String)
        /// The redirect policy does not allow this redirect.
        case redirect(to: URL)
        /// The redirect leads from https to http.
        case insecureRedirect(to: URL)
        /// A request modifier or the manager's hook refused the request.
        case hook
        /// The URL is on the manager's block list, since it failed before with the error of that
        /// ``WebImageError/code``.
        case failedBefore(code: Int)
    }

    /// The time limit that a load reached.
    ///
    /// ```swift
    /// do {
    ///     show(try await manager.image(for: WebImageRequest(url)))
    /// } catch .timedOut(reason: .offline, _, _) {
    ///     print("There is no network.")
    /// }
    /// ```
    public enum TimeoutReason: Sendable, Hashable {
        /// The connection was not established in time.
        case connecting
        /// Nothing arrived for too long.
        case idle
        /// The transfer rate was below this limit.
        case slow(bytesPerSecond: Int)
        /// The load took too long in total.
        case total
        /// No network was available, and none became available in time.
        case offline
    }

    /// Why a certificate was rejected.
    ///
    /// ```swift
    /// do {
    ///     show(try await manager.image(for: WebImageRequest(url)))
    /// } catch .certificate(reason: .expired, let url) {
    ///     print("The certificate of \(url.host() ?? "the server") has expired.")
    /// }
    /// ```
    public enum CertificateFailure: Sendable, Hashable {
        /// The certificate, or one in its chain, has expired.
        case expired
        /// The certificate is not valid yet.
        case notYetValid
        /// The certificate is for other host names.
        case wrongHost
        /// The certificate is self-signed.
        case selfSigned
        /// No trusted authority has signed the certificate.
        case unknownIssuer
        /// The public key does not match a pinned key.
        case publicKeyNotPinned
        /// Another cause, such as trusted authorities that cannot be read; the TLS library's message.
        case other(String)
    }

    /// Why a response cannot be used.
    public enum ResponseFailure: Sendable, Hashable {
        /// The body ended early; `expected` is `nil` if the length was not announced.
        case truncated(expected: Int64?, received: Int64)
        /// The response was a success without a body.
        case emptyBody
        /// The body is, or claims to be, longer than allowed.
        case bodyTooLong(byteCount: Int64, limit: Int64)
        /// The response's head is longer than `limit` bytes.
        case headersTooLong(limit: Int)
        /// The server redirected more than `limit` times.
        case tooManyRedirects(limit: Int)
        /// The server sent more than `limit` informational (1xx) responses and no final one.
        case tooManyInformationalResponses(limit: Int)
        /// The configuration does not accept this content type.
        case contentType(String)
        /// The body has a content or transfer coding that was not requested, or that is not supported.
        case contentCoding(String)
        /// The decryptor could not decrypt the body.
        case decryption
        /// The response modifier refused the response.
        case refused
    }

    /// The resource that is exhausted.
    public enum ResourceFailure: Codable, Sendable, Hashable {
        /// A block of memory of that size could not be allocated.
        case memory(byteCount: Int)
        /// No thread is available for the load.
        case thread
        /// A large body, or the coefficients of a large JPEG, could not be stored in a temporary file; `errno` is the
        /// system's number.
        case temporaryFile(directory: String, errno: Int32)
    }

    /// Why decoding failed.
    ///
    /// ```swift
    /// do {
    ///     show(try await manager.image(for: WebImageRequest(url)))
    /// } catch .decoding(let format, reason: .truncated, _) {
    ///     print("The \(format.name) file is not complete.")
    /// }
    /// ```
    public enum DecodingFailure: Codable, Sendable, Hashable {
        /// The data ends before the image does.
        case truncated
        /// The data violates the format; the codec library's message.
        case corrupt(String)
        /// The file is valid, but uses a feature that the decoder does not support.
        case unsupported(String)
        /// The file is valid, but has only `count` images. Pages are numbered from 0.
        case page(Int, count: Int)
        /// The format is known, but no registered decoder reads it.
        case noDecoder
    }

    /// The limit that an image exceeds.
    public enum LimitFailure: Codable, Sendable, Hashable {
        /// The image has more pixels than allowed; nothing was allocated for it.
        case pixels(size: PixelSize, limit: Int)
        /// A side is below 1, or above the limit of a buffer.
        case side(width: Int, height: Int)
        /// The animation has more frames than allowed.
        case frames(limit: Int)
        /// The unpacked frames of the animation take more bytes than allowed.
        case animation(byteCount: Int, limit: Int)
        /// A progressive image has more scans than allowed.
        case scans(limit: Int)
        /// The metadata takes more bytes than allowed; `byteCount` is the number of bytes read so far.
        case metadata(byteCount: Int, limit: Int)
        /// Decoding takes more memory than allowed; `byteCount` is the peak. Nothing was allocated for it.
        case memory(byteCount: Int, limit: Int)
        /// Decoding took more processor time than allowed, and was stopped.
        case processorTime(limit: Duration)
    }

    /// Why an isolated process did not decode or encode an image.
    public enum IsolationFailure: Sendable, Hashable {
        /// The system ended the process with this signal, such as `SIGSEGV`. A damaged or hostile file made the codec crash, or
        /// the codec has a bug.
        case crashed(signal: Int32)
        /// The process ended in the middle of the image, in another way than by a signal that is known.
        case ended
        /// The process did not finish within this wall-clock time, and was ended.
        case timedOut(after: Duration)
        /// The process returned something that cannot be the result.
        case invalidReply(String)
        /// No process can be started, or the library of the format is missing, for this reason.
        case unavailable(String)
        /// A process was started, and was not ready within this wall-clock time, as on a machine with too much work.
        case startTimedOut(after: Duration)
        /// The process has no sandbox with these layers, which are required.
        case missingLayers([String])
    }

    /// Why encoding failed.
    public enum EncodingFailure: Codable, Sendable, Hashable {
        /// No registered encoder supports the format.
        case noEncoder
        /// The image is larger than the format allows.
        case tooLarge(PixelSize, maximumDimension: Int)
        /// The format does not support animation.
        case noAnimation
        /// No frame has this number. Numbers start at 1.
        case frameNumber(Int, frameCount: Int)
        /// Even the smallest file that was tried is too long.
        case tooLong(byteCount: Int, limit: Int)
        /// The EXIF of the metadata has no TIFF header.
        case invalidMetadata
        /// The format allows no EXIF or XMP of this length.
        case metadataTooLong(byteCount: Int, limit: Int)
        /// The codec library failed; its message.
        case codec(String)
    }

    /// Why frames cannot form an animation.
    public enum FrameFailure: Codable, Sendable, Hashable {
        /// There are no frames.
        case none
        /// The number of durations differs from the number of frames.
        case durationCount(Int, frameCount: Int)
        /// The duration of this frame is negative.
        case duration(Duration, frame: Int)
        /// The size of this frame differs from that of the first.
        case size(PixelSize, frame: Int, expected: PixelSize)
        /// The rectangle of this frame is empty or not inside the sheet.
        case outsideSheet(PixelRect, frame: Int, sheet: PixelSize)
    }

    /// Why a processor or a drawing failed.
    public enum ProcessingFailure: Sendable, Hashable {
        /// A parameter is out of range or not a number.
        case invalidParameter(name: String, value: String)
        /// No pixels are left, for example after cropping to a rectangle outside the image.
        case emptyResult
        /// The result would have more than `pixelLimit` pixels, and more than the input, or a side longer than
        /// `sideLimit`, which cairo supports. No memory was allocated for it.
        case resultTooLarge(PixelSize, pixelLimit: Int = .max, sideLimit: Int = .max)
        /// No font is installed, or none that has this emoji in color.
        case noFont(emoji: String?)
        /// A custom processor or a closure failed, or the drawing library did; its message.
        case failed(String)
    }

    /// Why a disk cache cannot be used, or what it had to repair.
    public enum DiskCacheFailure: Sendable, Hashable {
        /// The directory cannot be created or written; the system's number.
        case system(errno: Int32)
        /// The index was damaged and moved aside; a new one was started.
        case corruptIndex(movedTo: String)
        /// The index cannot be read or written; SQLite's code and message.
        case index(code: Int, message: String)
        /// The bytes in this file are not those that were stored; the entry was removed. Reported for the first such
        /// file only.
        case corruptValue(path: String)
        /// A file name of the cache was taken by something that is not a regular file. It was moved aside, and the
        /// cache continues.
        case obstructed(movedTo: String)
        /// The directory was created by another user, who could put anything into it; the number of that user.
        case foreignDirectory(owner: Int)
        /// The attributes to be stored with the bytes are longer than the cache allows; the entry was not stored.
        case attributesTooLarge(byteCount: Int, limit: Int)
        /// The archiver could not convert the value of this key to bytes, so it was not stored; `message` is its error.
        case archiving(key: String, message: String)
        /// The bytes of this key could not be converted to a value. The entry was removed, unless the file is
        /// read-only.
        case unarchiving(key: String, message: String)
    }
}

extension WebImageError {
    /// The URL that the error is about; `nil` for errors without one, such as ``cancelled``, or where it is not known.
    public var url: URL? {
        switch self {
        case .invalidRequest(_, let url), .blocked(_, let url), .httpStatus(_, let url), .transport(_, _, let url),
            .timedOut(_, _, let url), .certificate(_, let url), .invalidResponse(_, let url):
            url
        case .outOfResources(_, let url), .unrecognizedFormat(_, _, let url), .decoding(_, _, let url),
            .limitExceeded(_, let url), .isolation(_, _, let url),
            .processing(_, _, let url):
            url
        case .invalidURL(let text, _): URL(string: text)
        case .file(let path, _): URL(filePath: path)
        case .cancelled, .encoding, .invalidFrames, .notInCache, .diskCache, .custom: nil
        }
    }

    /// The error with the URL of its image, where it has no URL yet. Decoders and processors do not know the URL.
    public func concerning(_ url: URL) -> WebImageError {
        switch self {
        case .outOfResources(let reason, nil): .outOfResources(reason: reason, url: url)
        case .unrecognizedFormat(let type, let bytes, nil):
            .unrecognizedFormat(contentType: type, leadingBytes: bytes, url: url)
        case .decoding(let format, let reason, nil): .decoding(format: format, reason: reason, url: url)
        case .limitExceeded(let reason, nil): .limitExceeded(reason: reason, url: url)
        case .isolation(let format, let reason, nil): .isolation(format: format, reason: reason, url: url)
        case .processing(let identifier, let reason, nil): .processing(identifier: identifier, reason: reason, url: url)
        default: self
        }
    }
}
