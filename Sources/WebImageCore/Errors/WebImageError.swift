public import FoundationEssentials

/// Everything that can go wrong between a URL and its picture: one case a cause, with its facts.
///
/// ``description`` says in words what happened and what to do; ``code`` is a number that stays the same between
/// releases.
public enum WebImageError: Error, Sendable, Equatable {
    // MARK: The request

    /// The text is no URL, or one without a host.
    case invalidURL(String)
    /// A `data:` URL breaks the rules for them, in the way the text says.
    case invalidDataURL(String)
    /// No loader handles this URL's scheme.
    case unsupportedScheme(String, url: URL)
    /// A request header's name is no token, or its value has a line break or NUL in it.
    case invalidHeader(name: String)
    /// The loader for this URL does nothing of that name; `hasBody`: not with a body.
    case unsupportedMethod(String, hasBody: Bool, url: URL)
    /// The caller gave up, or everybody did who shared the load.
    case cancelled

    // MARK: Loading

    /// The server answered with a status that is no success.
    case httpStatus(code: Int, url: URL)
    /// The connection failed; `code` and `message` are the transport's (libcurl's) own.
    case transport(code: Int, message: String, url: URL)
    /// The load reached a time limit of `seconds`; `reason` tells which.
    case timedOut(reason: TimeoutReason = .idle, seconds: Double, url: URL)
    /// There was no network, and none came up within `seconds`.
    case offline(seconds: Double, url: URL)
    /// The server's redirects did not end within `limit` hops.
    case tooManyRedirects(limit: Int, url: URL)
    /// The body ended early; `expected` is `nil` where the length was not announced.
    case truncated(expected: Int64?, received: Int64, url: URL)
    /// A success without a body.
    case emptyBody(url: URL)
    /// The body is, or claims to be, longer than allowed.
    case responseTooLarge(byteCount: Int64, limit: Int64, url: URL)
    /// The server could not prove to be the one asked for.
    case certificate(reason: CertificateFailure, url: URL)
    /// The redirect policy forbids a redirect.
    case redirectDenied(from: URL, to: URL, reason: RedirectFailure)
    /// The address policy forbids the connection, or the URL is on a manager's block list; nothing was sent.
    case blocked(url: URL, cause: BlockCause)
    /// The downloader's request modifier would not let the request go out, or a manager's hook would not load it.
    case requestRefused(url: URL)
    /// The downloader's response modifier did not want the answer.
    case responseRefused(url: URL)
    /// The answer is of a kind that the configuration does not accept.
    case unacceptableContentType(String, url: URL)
    /// The body came in a content or transfer coding that was not asked for, or that nothing here decodes. The string names it.
    case unsupportedContentCoding(String, url: URL)
    /// The decryptor could make nothing of the body.
    case decryptionFailed(url: URL)
    /// A large body, or the coefficients of a large JPEG, could not be kept in a temporary file; `errno` is the system's number.
    case temporaryFile(directory: String, errno: Int32)
    /// The environment's `variable` names no proxy that can be used; nothing was sent, to nobody directly either.
    case invalidProxy(variable: String, url: URL)
    /// The system has no thread left to load on.
    case noThread(url: URL)
    /// The closure that a request names for its bytes failed; its own words.
    case dataProvider(id: String, reason: String)
    /// The head of the answer is longer than `limit` bytes: more than any server has to say.
    case headersTooLarge(limit: Int, url: URL)
    /// The server sent more informational (1xx) responses than `limit`, and no answer.
    case tooManyInformationalResponses(limit: Int, url: URL)
    /// A file could not be read or written; `errno` is the system's number.
    case file(path: String, errno: Int32)

    // MARK: Coding

    /// The bytes begin like no registered format. `contentType` is what the server called them.
    case unrecognizedFormat(contentType: String?, leadingBytes: [UInt8])
    /// The bytes are damaged or use something the decoder can't read.
    case decoding(format: ImageFormat, reason: DecodingFailure)
    /// The picture could not be written in that format.
    case encoding(format: ImageFormat, reason: EncodingFailure)
    /// The picture claims more pixels than allowed; nothing was allocated for it.
    case imageTooLarge(size: PixelSize, pixelLimit: Int)
    /// The animation has more frames than allowed.
    case tooManyFrames(limit: Int)
    /// The frames of the animation take more bytes than allowed, once they are unpacked.
    case animationTooLarge(byteCount: Int, limit: Int)
    /// A progressive picture has more scans than allowed.
    case tooManyScans(limit: Int)
    /// The picture took more than the processor time allowed, and was given up.
    case decodingTimedOut(seconds: Double)
    /// What the file holds beside its pictures takes more bytes than allowed: `byteCount` as far as it was read.
    case metadataTooLarge(byteCount: Int, limit: Int)
    /// Decoding takes more memory than allowed: `byteCount` at a time, at the most. Nothing was allocated for it.
    case decodingMemoryExceeded(byteCount: Int, limit: Int)
    /// A side below 1 or above what a buffer can have.
    case invalidSize(width: Int, height: Int)
    /// The system has no block of that size.
    case outOfMemory(byteCount: Int)
    /// No animation can be made of these frames.
    case invalidAnimation(reason: AnimationFault)

    // MARK: Processing

    /// The processor with that identifier could not do its work.
    case processing(identifier: String, reason: ProcessingFailure)
    /// The text or bytes are no BlurHash or ThumbHash.
    case invalidPlaceholderHash(String, reason: PlaceholderHashFailure)
    /// A picture could not be drawn.
    case drawing(DrawingFailure)

    // MARK: Caching

    /// The picture is not in the cache, and the request allows no other source.
    case notInCache(key: String)
    /// The disk cache can't be used for now; loads go on without it.
    case diskCache(path: String, reason: DiskCacheFailure)
    /// A value could not be turned into bytes for the disk; the archiver's own words.
    case archiving(key: String, reason: String)
    /// What a cache held on disk could not be turned back into a value. It was removed, unless it lay in a read-only file.
    case damagedCacheEntry(key: String, reason: String)

    /// The time limit that a load reached.
    public enum TimeoutReason: Sendable, Hashable {
        /// There was no connection in time.
        case connecting
        /// Nothing arrived for too long.
        case idle
        /// Fewer bytes a second arrived than this.
        case slow(bytesPerSecond: Int)
        /// The load took too long in total.
        case total
    }

    /// Why a server was not trusted.
    public enum CertificateFailure: Sendable, Hashable {
        /// Its certificate's time has passed, or that of one it is signed with.
        case expired
        /// Its certificate's time has not come.
        case notYetValid
        /// The certificate is for other names.
        case wrongHost
        /// It has signed its certificate itself.
        case selfSigned
        /// Nobody who is trusted has signed its certificate.
        case unknownIssuer
        /// Its public key is none of those pinned.
        case publicKeyNotPinned
        /// The trusted authorities can't be read; the TLS library's words.
        case authoritiesUnreadable(String)
        /// Another one; the TLS library's words.
        case other(String)
    }

    /// Why a redirect was not followed.
    public enum RedirectFailure: String, Sendable, Hashable {
        /// It leads from https to http.
        case downgrade
        /// The configured closure said so.
        case denied
    }

    /// What an address policy took exception to.
    public enum BlockCause: Sendable, Hashable {
        /// The URL's scheme is not allowed.
        case scheme(String)
        /// The URL's host is not allowed.
        case host(String)
        /// The address is not allowed that the host stands for, in numbers.
        case address(String)
        /// The address that the host stands for can't be judged, since a proxy connects to it.
        case unresolvedHost(String)
        /// The URL is on a manager's block list: it has failed before, with the error of that ``WebImageError/code``.
        case failedBefore(code: Int)
    }

    /// Why a decoder gave up.
    public enum DecodingFailure: Sendable, Hashable {
        /// The data ends before the picture does.
        case truncated
        /// The data breaks the format's rules; the codec library's own words.
        case corrupt(String)
        /// A valid file that uses a feature the decoder lacks.
        case unsupported(String)
    }

    /// Why an encoder gave up.
    public enum EncodingFailure: Sendable, Hashable {
        /// No registered encoder writes the format.
        case noEncoder
        /// The picture is larger than the format can hold.
        case tooLarge(PixelSize, maximumDimension: Int)
        /// The format holds no animation.
        case noAnimation
        /// There is no frame to write.
        case noFrames
        /// The duration of the frame with this number is negative, or no number.
        case duration(Double, frame: Int)
        /// The frame with this number has another size than the first.
        case frameSize(PixelSize, frame: Int, expected: PixelSize)
        /// There is no frame of this number, counted from 1.
        case frameNumber(Int, frameCount: Int)
        /// Not even the smallest file that was tried is short enough.
        case tooLong(byteCount: Int, limit: Int)
        /// The codec library failed; its own words.
        case codec(String)
    }

    /// What is wrong with frames that are to make an animation.
    public enum AnimationFault: Sendable, Hashable {
        /// There are none.
        case noFrames
        /// There are not as many durations as frames.
        case durationCount(Int, frameCount: Int)
        /// A frame's duration, in seconds, is negative or no number.
        case duration(Double, frame: Int)
        /// A frame is not as large as the first one.
        case frameSize(PixelSize, frame: Int, expected: PixelSize)
        /// A frame's rectangle does not lie in the sheet, or is empty.
        case outsideSheet(PixelRect, frame: Int, sheet: PixelSize)
    }

    /// Why a processor gave up.
    public enum ProcessingFailure: Sendable, Hashable {
        /// A parameter is out of the range in which it means something, or no number.
        case invalidParameter(name: String, value: String)
        /// Nothing of the picture is left, as when it is cropped to a place outside.
        case emptyResult
        /// The result would have more pixels than both its input and `pixelLimit`; no memory was taken for it.
        case resultTooLarge(PixelSize, pixelLimit: Int)
        /// A processor of the program's own failed; its own words.
        case failed(String)
    }

    /// What is wrong with a BlurHash or ThumbHash.
    public enum PlaceholderHashFailure: Error, Sendable, Hashable {
        /// Its length, in bytes, is not the one that its beginning asks for, or too short for a beginning.
        case wrongLength(byteCount: Int, expected: Int)
        /// The byte at `offset` stands for nothing.
        case invalidCharacter(offset: Int)
        /// What stands at `offset` is a number that no encoder writes there.
        case valueOutOfRange(offset: Int)
    }

    /// Why a drawing came to nothing.
    public enum DrawingFailure: Sendable, Hashable {
        /// A coordinate, length or other number is not finite, or out of the range in which it means something.
        case invalidNumber(name: String, value: String)
        /// The picture is larger than cairo can draw on.
        case tooLarge(PixelSize, maximumDimension: Int)
        /// A state was restored that had not been saved.
        case unbalancedRestore
        /// The text is longer than is laid out.
        case textTooLong(byteCount: Int, limit: Int)
        /// The text is not one emoji.
        case notAnEmoji(String)
        /// No font is installed.
        case noFont
        /// No installed font has the emoji in colour.
        case noColorFont(emoji: String)
        /// cairo failed: its status and its own words.
        case cairo(status: Int, message: String)
        /// The program's closure threw an error of its own; its words.
        case failed(String)
    }

    /// Why a disk cache stands aside.
    public enum DiskCacheFailure: Sendable, Hashable {
        /// The directory can't be made or written; the system's number.
        case system(errno: Int32)
        /// The index was damaged and moved aside; the cache began anew.
        case corruptIndex(movedTo: String)
        /// The index can't be read or written: SQLite's code and words.
        case index(code: Int, message: String)
        /// Bytes in this file are not those that were stored; their entry was removed. Told for the first of them only.
        case corruptValue(path: String)
        /// Something else than a regular file had the name of one of the cache's files. It was moved aside, and the cache
        /// goes on.
        case obstructed(movedTo: String)
        /// Another user has made the directory and may put anything into it; the number of that user.
        case foreignDirectory(owner: Int)
        /// What a program wanted to keep beside the bytes is longer than the cache takes; the entry was not stored.
        case attributesTooLarge(byteCount: Int, limit: Int)
    }
}
