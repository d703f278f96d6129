internal import FoundationEssentials
internal import Synchronization
internal import WebImageCoding
internal import WebImageCore

/// The frames of an animation that other processes decode. Each reader has the file open in one of them, and in another one if that has
/// ended.
final class IsolatedAnimation: LimitedAnimation {
    let identity: AnimationIdentity
    let frames: [AnimationFrame]
    let frameSize: PixelSize
    let loopCount: Int
    let isComplete: Bool
    private let data: Data
    private let work: IsolatedWork
    private let options: DecodingOptions

    init(
        _ description: AnimationDescription, _ data: Data, work: IsolatedWork, options: DecodingOptions,
        identity: AnimationIdentity
    ) {
        frames = description.frames
        frameSize = description.frameSize
        loopCount = description.loopCount
        isComplete = description.isComplete
        self.identity = identity
        self.data = data
        self.work = work
        var options = options
        options.cancellation = nil
        self.options = options
    }

    var byteCount: Int { data.count }
    var limits: DecodingLimits? { options.limits }

    func makeFrameReader() -> any AnimationFrameReader {
        IsolatedFrameReader(data, frameSize: frameSize, work: work, options: options)
    }
}

/// Reads the frames of a file that a process has open.
private final class IsolatedFrameReader: AnimationFrameReader {
    private let data: Data
    private let frameSize: PixelSize
    private let work: IsolatedWork
    private let options: DecodingOptions
    private let session = SessionNumber.next()
    private var process: DecoderProcess?
    /// The file, while there are more frames to come.
    private var input: SharedMemory?

    init(_ data: Data, frameSize: PixelSize, work: IsolatedWork, options: DecodingOptions) {
        self.data = data
        self.frameSize = frameSize
        self.work = work
        self.options = options
    }

    deinit { process?.leave(session: session) }

    func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        try work.isolated { () throws in try isolatedFrame(at: index, cancellation: cancellation) }
    }

    private func isolatedFrame(at index: Int, cancellation: Cancellation?) throws -> PixelBuffer {
        let file = IsolatedWork.OpenFile(process: process) { [self] process, limit in
            let input = try input ?? work.memory(of: data)
            self.input = input
            let request = DecoderRequest.openFrames(session: session, work.format, SentDecodingOptions(options))
            try work.perform(ProcessRequest(request, input: .memory(input), limits: options.limits), in: process, limit)
        }
        let request = ProcessRequest(
            .frame(session: session, index: index), outputByteCount: IsolatedWork.outputByteCount(options.limits))
        return try work.response(request, .init(options.limits, cancellation: cancellation), of: file) { response in
            process = response.process
            guard case .image(let decoded) = response.reply, decoded.pixels.size == frameSize else {
                throw InvalidMessage("no frame of the animation's size")
            }
            return try ArrivingRows(options.limits).finish(decoded, from: response.process, isLast: false)
        }
    }
}

/// Numbers the files that are open in processes.
enum SessionNumber {
    private static let last = Atomic(0)

    static func next() -> Int { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
