public import FoundationEssentials

/// All errors of the library, one case for each cause, with the relevant facts.
///
/// ``description`` says what happened and what to do about it. ``code`` is a number that is stable across releases.
public enum WebImageError: Error, Sendable, Equatable {
    // MARK: The request

    /// The text is not a URL, or is a URL without a host.
    case invalidURL(String)
    /// A `data:` URL is malformed; the text says how.
    case invalidDataURL(String)
    /// No loader handles this URL's scheme.
    case unsupportedScheme(String, url: URL)
    /// The name of a request header is not a token, or its value contains a line break or NUL.
    case invalidHeader(name: String)
    /// The loader for this URL does not support the method; if `hasBody`, it does not support the method with a body.
    case unsupportedMethod(String, hasBody: Bool, url: URL)
    /// The caller cancelled, or all callers that shared the load did.
    case cancelled

    // MARK: Loading

    /// The server responded with an error status.
    case httpStatus(code: Int, url: URL)
    /// The connection failed; `code` and `message` are from the transport (libcurl).
    case transport(code: Int, message: String, url: URL)
    /// The load reached a time limit of `seconds`; `reason` says which.
    case timedOut(reason: TimeoutReason = .idle, seconds: Double, url: URL)
    /// No network was available, and none became available within `seconds`.
    case offline(seconds: Double, url: URL)
    /// The server redirected more than `limit` times.
    case tooManyRedirects(limit: Int, url: URL)
    /// The body ended early; `expected` is `nil` if the length was not announced.
    case truncated(expected: Int64?, received: Int64, url: URL)
    /// The response was a success without a body.
    case emptyBody(url: URL)
    /// The body is, or claims to be, longer than allowed.
    case responseTooLarge(byteCount: Int64, limit: Int64, url: URL)
    /// The server's identity could not be verified.
    case certificate(reason: CertificateFailure, url: URL)
    /// The redirect policy does not allow a redirect.
    case redirectDenied(from: URL, to: URL, reason: RedirectFailure)
    /// The address policy does not allow the connection, or the URL is on a manager's block list; nothing was sent.
    case blocked(url: URL, cause: BlockCause)
    /// The downloader's request modifier refused the request, or a manager's hook did.
    case requestRefused(url: URL)
    /// The downloader's response modifier refused the response.
    case responseRefused(url: URL)
    /// The configuration does not accept the response's content type.
    case unacceptableContentType(String, url: URL)
    /// The body has a content or transfer coding that was not requested, or that is not supported. The string names it.
    case unsupportedContentCoding(String, url: URL)
    /// The decryptor could not decrypt the body.
    case decryptionFailed(url: URL)
    /// A large body, or the coefficients of a large JPEG, could not be stored in a temporary file; `errno` is the
    /// system's number.
    case temporaryFile(directory: String, errno: Int32)
    /// The environment's `variable` does not name a usable proxy. Nothing was sent, not even directly.
    case invalidProxy(variable: String, url: URL)
    /// The system has no thread available for the load.
    case noThread(url: URL)
    /// The closure that provides a request's bytes failed; `reason` is its message.
    case dataProvider(id: String, reason: String)
    /// The response's head is longer than `limit` bytes.
    case headersTooLarge(limit: Int, url: URL)
    /// The server sent more than `limit` informational (1xx) responses and no final one.
    case tooManyInformationalResponses(limit: Int, url: URL)
    /// A file could not be read or written; `errno` is the system's number.
    case file(path: String, errno: Int32)

    // MARK: Coding

    /// The leading bytes match no registered format. `contentType` is the type that the server declared.
    case unrecognizedFormat(contentType: String?, leadingBytes: [UInt8])
    /// The bytes are damaged, or use a feature that the decoder does not support.
    case decoding(format: ImageFormat, reason: DecodingFailure)
    /// The image could not be encoded in that format.
    case encoding(format: ImageFormat, reason: EncodingFailure)
    /// The image has more pixels than allowed; nothing was allocated for it.
    case imageTooLarge(size: PixelSize, pixelLimit: Int)
    /// The animation has more frames than allowed.
    case tooManyFrames(limit: Int)
    /// The unpacked frames of the animation take more bytes than allowed.
    case animationTooLarge(byteCount: Int, limit: Int)
    /// A progressive image has more scans than allowed.
    case tooManyScans(limit: Int)
    /// Decoding took more processor time than allowed and was stopped.
    case decodingTimedOut(seconds: Double)
    /// The file's metadata takes more bytes than allowed; `byteCount` is the number of bytes read so far.
    case metadataTooLarge(byteCount: Int, limit: Int)
    /// Decoding takes more memory than allowed; `byteCount` is the peak. Nothing was allocated for it.
    case decodingMemoryExceeded(byteCount: Int, limit: Int)
    /// A side is below 1, or above the limit of a buffer.
    case invalidSize(width: Int, height: Int)
    /// The system could not allocate a block of that size.
    case outOfMemory(byteCount: Int)
    /// The frames cannot form an animation.
    case invalidAnimation(reason: AnimationFault)

    // MARK: Processing

    /// The processor with that identifier failed.
    case processing(identifier: String, reason: ProcessingFailure)
    /// The text or bytes are not a valid BlurHash or ThumbHash.
    case invalidPlaceholderHash(String, reason: PlaceholderHashFailure)
    /// An image could not be drawn.
    case drawing(DrawingFailure)

    // MARK: Caching

    /// The image is not cached, and the request allows no other source.
    case notInCache(key: String)
    /// The disk cache cannot be used at present; loads continue without it.
    case diskCache(path: String, reason: DiskCacheFailure)
    /// A value could not be converted to bytes for the disk; `reason` is the archiver's message.
    case archiving(key: String, reason: String)
    /// Cached bytes on disk could not be converted back to a value. They were removed, unless the file is read-only.
    case damagedCacheEntry(key: String, reason: String)

    /// The time limit that a load reached.
    public enum TimeoutReason: Sendable, Hashable {
        /// The connection was not established in time.
        case connecting
        /// Nothing arrived for too long.
        case idle
        /// The transfer rate was below this limit.
        case slow(bytesPerSecond: Int)
        /// The load took too long in total.
        case total
    }

    /// Why a certificate was rejected.
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
        /// The trusted authorities could not be read; the TLS library's message.
        case authoritiesUnreadable(String)
        /// Another cause; the TLS library's message.
        case other(String)
    }

    /// Why a redirect was not followed.
    public enum RedirectFailure: String, Sendable, Hashable {
        /// The redirect leads from https to http.
        case downgrade
        /// The configured closure denied it.
        case denied
    }

    /// The part of a URL that an address policy blocked.
    public enum BlockCause: Sendable, Hashable {
        /// The URL's scheme is not allowed.
        case scheme(String)
        /// The URL's host is not allowed.
        case host(String)
        /// The host resolves to a disallowed IP address.
        case address(String)
        /// The host's address cannot be checked, since a proxy connects to it.
        case unresolvedHost(String)
        /// The URL is on a manager's block list, since it failed before with the error of that ``WebImageError/code``.
        case failedBefore(code: Int)
    }

    /// Why decoding failed.
    public enum DecodingFailure: Sendable, Hashable {
        /// The data ends before the image does.
        case truncated
        /// The data violates the format; the codec library's message.
        case corrupt(String)
        /// The file is valid, but uses a feature that the decoder does not support.
        case unsupported(String)
    }

    /// Why encoding failed.
    public enum EncodingFailure: Sendable, Hashable {
        /// No registered encoder supports the format.
        case noEncoder
        /// The image is larger than the format allows.
        case tooLarge(PixelSize, maximumDimension: Int)
        /// The format does not support animation.
        case noAnimation
        /// There are no frames.
        case noFrames
        /// The duration of this frame is negative or not a number.
        case duration(Double, frame: Int)
        /// The size of this frame differs from that of the first.
        case frameSize(PixelSize, frame: Int, expected: PixelSize)
        /// No frame has this number. Numbers start at 1.
        case frameNumber(Int, frameCount: Int)
        /// Even the smallest file that was tried is too long.
        case tooLong(byteCount: Int, limit: Int)
        /// The codec library failed; its message.
        case codec(String)
    }

    /// Why frames cannot form an animation.
    public enum AnimationFault: Sendable, Hashable {
        /// There are no frames.
        case noFrames
        /// The number of durations differs from the number of frames.
        case durationCount(Int, frameCount: Int)
        /// The duration of this frame, in seconds, is negative or not a number.
        case duration(Double, frame: Int)
        /// The size of this frame differs from that of the first.
        case frameSize(PixelSize, frame: Int, expected: PixelSize)
        /// The rectangle of this frame is empty or not inside the sheet.
        case outsideSheet(PixelRect, frame: Int, sheet: PixelSize)
    }

    /// Why a processor failed.
    public enum ProcessingFailure: Sendable, Hashable {
        /// A parameter is out of range or not a number.
        case invalidParameter(name: String, value: String)
        /// No pixels are left, for example after cropping to a rectangle outside the image.
        case emptyResult
        /// The result would have more pixels than the input and more than `pixelLimit`; no memory was allocated for it.
        case resultTooLarge(PixelSize, pixelLimit: Int)
        /// A custom processor failed; its message.
        case failed(String)
    }

    /// Why a BlurHash or ThumbHash is invalid.
    public enum PlaceholderHashFailure: Error, Sendable, Hashable {
        /// The length in bytes differs from the length that the first bytes specify, or is too short for those.
        case wrongLength(byteCount: Int, expected: Int)
        /// The byte at `offset` is not a valid character.
        case invalidCharacter(offset: Int)
        /// The value at `offset` is one that encoders never write.
        case valueOutOfRange(offset: Int)
    }

    /// Why drawing failed.
    public enum DrawingFailure: Sendable, Hashable {
        /// A coordinate, length or other number is not finite or out of range.
        case invalidNumber(name: String, value: String)
        /// The image is larger than cairo supports.
        case tooLarge(PixelSize, maximumDimension: Int)
        /// A state was restored without having been saved.
        case unbalancedRestore
        /// The text is longer than the layout limit.
        case textTooLong(byteCount: Int, limit: Int)
        /// The text is not a single emoji.
        case notAnEmoji(String)
        /// No font is installed.
        case noFont
        /// No installed font has the emoji in color.
        case noColorFont(emoji: String)
        /// cairo failed; its status and message.
        case cairo(status: Int, message: String)
        /// The program's closure threw an error; its message.
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
        /// One of the cache's file names was taken by something that is not a regular file. It was moved aside, and the
        /// cache continues.
        case obstructed(movedTo: String)
        /// The directory was created by another user, who could put anything into it; the number of that user.
        case foreignDirectory(owner: Int)
        /// The attributes to be stored with the bytes are longer than the cache allows; the entry was not stored.
        case attributesTooLarge(byteCount: Int, limit: Int)
    }
}
