internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// A request to a decoder process, and what the process may have for it.
struct ProcessRequest {
    let content: DecoderRequest
    var input = RequestInput.none
    /// The room for the result, in bytes.
    var outputByteCount = 0
    /// The kernel enforces its memory and time; `nil` for those of the process.
    var limits: DecodingLimits?
    /// The length of all files that the decoder may request, in bytes.
    var spoolByteLimit = 0
    /// Returns the frames that the decoder requests.
    var supply: ((Int) throws(WebImageError) -> (PixelLayout, SharedMemory))?
    /// Gets the rows of the image that are finished while others are decoded.
    var arrivingRows: ArrivingRows?

    init(
        _ content: DecoderRequest, input: RequestInput = .none, outputByteCount: Int = 0,
        limits: DecodingLimits? = nil
    ) {
        self.content = content
        self.input = input
        self.limits = limits
        self.outputByteCount = outputByteCount
    }
}

/// The file or the pixels that a request is about.
enum RequestInput {
    case none
    /// Bytes that are copied to the memory that the process keeps.
    case bytes(Data)
    /// Memory that the process may keep for as long as it has the file open.
    case memory(SharedMemory)
}

/// How long a caller waits.
struct WaitLimit {
    /// In seconds of the monotonic clock.
    var deadline: Double
    var cancellation: Cancellation?

    var isCancelled: Bool { cancellation?.isCancelled == true }

    /// Calls `body`, and `handler` if the caller cancels meanwhile.
    func withHandler<Result>(_ handler: @escaping @Sendable () -> Void, _ body: () throws -> Result) throws -> Result {
        guard let cancellation else { return try body() }
        return try cancellation.withHandler(handler, body)
    }
}

/// The files that a process has requested for what does not fit in its memory.
struct Spools {
    private var files: [UnnamedFile] = []
    private var requestCount = 0
    /// The number of bytes that may still be requested.
    private var rest: Int

    init(byteLimit: Int) { rest = byteLimit }

    /// Decoders need one.
    static let countLimit = 4

    /// Returns what the process gets: a file, or why there is none.
    mutating func answer(_ byteCount: Int) throws -> (DecoderRequest, [SharedMemory]) {
        requestCount += 1
        guard requestCount <= Self.countLimit else {
            throw InvalidMessage("it requests more than \(Self.countLimit) files")
        }
        guard byteCount <= rest else { throw InvalidMessage("it requests too long a file") }
        rest -= byteCount
        do {
            guard let file = try UnnamedFile.onDisk(byteCount: byteCount) else { return (.spool(directory: ""), []) }
            files.append(file)
            return (.spool(directory: file.directory), [try SharedMemory(copyOf: file.descriptor)])
        } catch let error as WebImageError {
            return (.noSpool(DecoderFailure(error)), [])
        } catch let error as RegularFile.Failure {
            throw UnavailableDecoder(sharingMemory: error)
        }
    }

    func clear() {
        for file in files { file.clear() }
    }
}
