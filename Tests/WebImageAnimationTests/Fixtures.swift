import Testing
@testable import WebImageCore
import WebImageProcessing

@testable import WebImageAnimation

/// A player on a manual clock whose frames are decoded on request, with a log of its events.
final class PlayerFixture: Sendable {
    let clock: ManualTimerClock
    let work: ManualWork
    let pools: FramePools
    let player: AnimationPlayer
    private let told = LockBox<[AnimationPlayer.Event]>([])
    private let decodesAtOnce: Bool

    /// - Parameters:
    ///   - decodesAtOnce: whether requested frames are decoded at the next step, as on a fast machine.
    ///   - beside: another player whose clock and pools this one uses.
    init(
        _ source: any AnimationSource, configuration: AnimationPlayer.Configuration = .init(), capacity: Int? = nil,
        decodesAtOnce: Bool = true, pressureSource: MemoryPressureSource? = nil,
        beside other: PlayerFixture? = nil
    ) throws {
        let work = other?.work ?? ManualWork()
        self.work = work
        clock = other?.clock ?? ManualTimerClock()
        pools =
            other?.pools
            ?? FramePools(
                byteLimit: capacity.map { $0 * NumberedSource.frameByteCount } ?? 1 << 30,
                pressureSource: pressureSource, submit: work.submit)
        self.decodesAtOnce = decodesAtOnce
        player = AnimationPlayer(try AnimatedImage(source), configuration: configuration, clock: clock, pools: pools)
        player.onEvent = { [told] event in told.withLock { $0.append(event) } }
    }

    var events: [AnimationPlayer.Event] { told.withLock { $0 } }

    /// The frames reported since the last call, checked by the number in their pixels.
    func frames() -> [Int] {
        told.withLock { events in
            defer { events.removeAll { if case .frame = $0 { true } else { false } } }
            return events.compactMap { event in
                guard case .frame(let index, let pixels) = event else { return nil }
                #expect(NumberedSource.number(of: pixels) == index)
                return index
            }
        }
    }

    /// All events since the last call, in words.
    func eventText() -> String {
        told.withLock { events in
            defer { events = [] }
            return events.map { event in
                switch event {
                case .frame(let index, _): "\(index)"
                case .loopEnded(let count): "loop\(count)"
                case .finished: "end"
                case .frameFailed(let index, _): "failed\(index)"
                }
            }.joined(separator: " ")
        }
    }

    /// Advances time in steps of 0.1 s, the duration of a frame by default.
    func advance(_ stepCount: Int = 1) {
        settle()
        for _ in 0..<stepCount {
            clock.advance(by: .milliseconds(100))
            settle()
        }
    }

    /// Makes all calls that are due and decodes requested frames, if `decodesAtOnce`.
    func settle() {
        clock.advance()
        guard decodesAtOnce else { return }
        while work.count > 0 {
            work.runAll()
            clock.advance()
        }
    }
}

/// Work that runs when the test says so.
final class ManualWork: Sendable {
    private let waiting = LockBox<[(priority: LoadPriority, body: @Sendable () -> Void)]>([])

    var submit: @Sendable (LoadPriority, @escaping @Sendable () -> Void) -> Void {
        { [self] priority, body in waiting.withLock { $0.append((priority, body)) } }
    }

    var count: Int { waiting.withLock { $0.count } }
    /// In order.
    var priorities: [LoadPriority] { waiting.withLock { $0.map(\.priority) } }

    /// Runs up to `count` pieces.
    func run(_ count: Int = 1) {
        for _ in 0..<count {
            guard let next = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
            next.body()
        }
    }

    /// Runs what is queued now before work for later.
    func runUrgent() {
        let urgent = waiting.withLock { waiting in
            defer { waiting.removeAll { $0.priority > .low } }
            return waiting.filter { $0.priority > .low }
        }
        for piece in urgent { piece.body() }
    }

    /// Runs all pieces, and those they add.
    func runAll() {
        while count > 0 { run() }
    }
}

/// A closure as a processor.
struct FrameClosure: PixelProcessor {
    typealias Body = @Sendable (PixelBuffer, Cancellation?) throws(WebImageError) -> PixelBuffer

    private let name: String
    private let body: Body

    init(_ name: String, _ body: @escaping Body) {
        self.name = name
        self.body = body
    }

    var identifier: ProcessorIdentifier { ProcessorIdentifier(name) }

    func process(_ pixels: PixelBuffer, scale: Double, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer
    {
        try body(pixels, cancellation)
    }
}

/// An animation whose frames contain their numbers, and whose readers log their work. As in a GIF, a frame depends on
/// those before it, back to a keyframe.
final class NumberedSource: AnimationSource {
    let identity: AnimationIdentity
    let frameSize: PixelSize
    let frames: [AnimationFrame]
    let loopCount: Int
    let isComplete: Bool
    let byteCount = 100
    /// Frames that cannot be decoded.
    let damaged: [Int: WebImageError]
    let log: Log
    /// The frame from which composing each frame begins.
    private let starts: [Int]

    /// The work of all readers; versions of one animation share it.
    final class Log: Sendable {
        private let state = LockBox((composed: [Int](), asked: [Int](), readerCount: 0))

        /// The composed frames, in order.
        var composed: [Int] { state.withLock { $0.composed } }
        /// The requested frames, in order.
        var asked: [Int] { state.withLock { $0.asked } }
        var readerCount: Int { state.withLock { $0.readerCount } }

        func note(_ index: Int) { state.withLock { $0.asked.append(index) } }
        func compose(_ index: Int) { state.withLock { $0.composed.append(index) } }
        func countReader() { state.withLock { $0.readerCount += 1 } }
    }

    init(
        _ frameCount: Int, durations: [Double]? = nil, keyframes: Set<Int> = [0], loopCount: Int = 0,
        isComplete: Bool = true, damaged: [Int: WebImageError] = [:],
        frameSize: PixelSize = PixelSize(width: 4, height: 4), versionOf other: NumberedSource? = nil
    ) {
        identity = other?.identity ?? AnimationIdentity()
        log = other?.log ?? Log()
        self.frameSize = frameSize
        self.loopCount = loopCount
        self.isComplete = isComplete
        self.damaged = damaged
        var start = 0
        starts = (0..<frameCount).map { index in
            if keyframes.contains(index) { start = index }
            return start
        }
        frames = (0..<frameCount).map { index in
            AnimationFrame(duration: .seconds(durations?[index] ?? 0.1), isKeyframe: keyframes.contains(index))
        }
    }

    static let frameByteCount = 4 * 4 * 4

    func makeFrameReader() -> any AnimationFrameReader {
        log.countReader()
        return Reader(self)
    }

    static func number(of pixels: PixelBuffer) -> Int {
        let pixel = pixels[0, 0]
        return Int(pixel[0]) | Int(pixel[1]) << 8 | Int(pixel[2]) << 16
    }

    private final class Reader: ExtensibleFrameReader {
        private var source: NumberedSource
        private var next = 0

        init(_ source: NumberedSource) { self.source = source }

        func update(to source: any AnimationSource) -> Bool {
            guard let longer = source as? NumberedSource, longer.identity == self.source.identity else { return false }
            self.source = longer
            return true
        }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            precondition(source.frames.indices.contains(index), "there is no frame \(index)")
            source.log.note(index)
            try cancellation?.check()
            let start = source.starts[index]
            if next > index || next < start { next = start }
            while next <= index {
                source.log.compose(next)
                next += 1
            }
            if let error = source.damaged[index] { throw error }
            return try Self.image(index, size: source.frameSize)
        }

        private static func image(_ index: Int, size: PixelSize) throws(WebImageError) -> PixelBuffer {
            var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
            pixels.withUnsafeMutableBytes { bytes in
                for place in stride(from: 0, to: bytes.count, by: 4) {
                    bytes[place] = UInt8(truncatingIfNeeded: index)
                    bytes[place + 1] = UInt8(truncatingIfNeeded: index >> 8)
                    bytes[place + 2] = UInt8(truncatingIfNeeded: index >> 16)
                    bytes[place + 3] = 255
                }
            }
            return pixels.freeze(isOpaque: true)
        }
    }
}
