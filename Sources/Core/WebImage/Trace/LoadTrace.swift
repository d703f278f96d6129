import WebImageCore
public import WebImageLoading

/// The events of a load, stage by stage: which cache had the image, and why others did not, what was requested
/// from the server, and how long everything took.
///
/// ``WebImageOperation/trace`` and ``WebImageResponse/trace`` return it, and ``WebImageOperation/traceDescription`` its text. A program can
/// send a span for each entry to a tracing system, for example when a load ends:
///
/// ```swift
/// var configuration = WebImageManager.Configuration()
/// configuration.didFinish = { operation, _ in
///     let start = Date.now - TimeInterval(operation.elapsed / .seconds(1))
///     for entry in operation.trace.entries {
///         print(entry.stage, start + TimeInterval(entry.start / .seconds(1)), entry.duration, entry.byteCount ?? 0)
///     }
/// }
/// ```
public struct LoadTrace: Sendable, Hashable {
    /// The entries, in order of their start.
    public var entries: [Entry]

    /// Creates a trace, such as for a preview of a program's view.
    public init(entries: [Entry] = []) { self.entries = entries }

    /// A stage of a load.
    public enum Stage: String, Sendable, Hashable, CaseIterable {
        /// A look-up in memory.
        case memory
        /// A look-up on disk.
        case disk
        /// A decision whether the stored responses may be used.
        case policy
        /// A transfer from a server, or the work of another loader.
        case transfer
        /// A wait before another attempt.
        case retry
        /// The effect of the server's response on the stored one.
        case validation
        /// The storing of a response, or why it was not stored.
        case store
        /// Decoding.
        case decode
        /// Processing.
        case process
    }

    /// An entry of a trace.
    public struct Entry: Sendable, Hashable {
        /// The stage.
        public var stage: Stage
        /// When it started, from the start of the request; negative for shared work that was already in progress.
        public var start: Duration
        /// How long it took; 0 if that is not measured.
        public var duration: Duration
        /// A description of the event, for people. It may change between versions.
        public var message: String
        /// The number of bytes that were read, received or stored; `nil` for stages without bytes, and if it is unknown.
        public var byteCount: Int?
        /// Where the image or its bytes came from; `nil` for stages that brought neither.
        public var origin: ImageOrigin?
        /// Whether the stage failed; ``message`` then says why.
        public var hasFailed: Bool

        /// Creates an entry.
        public init(
            stage: Stage, start: Duration, duration: Duration = .zero, message: String, byteCount: Int? = nil,
            origin: ImageOrigin? = nil, hasFailed: Bool = false
        ) {
            self.stage = stage
            self.start = start
            self.duration = duration
            self.message = message
            self.byteCount = byteCount
            self.origin = origin
            self.hasFailed = hasFailed
        }
    }
}

extension LoadTrace.Entry: CustomStringConvertible {
    /// One line with start and duration in milliseconds, stage and message.
    public var description: String {
        "\(Self.milliseconds(start)) ms  +\(Self.milliseconds(duration)) ms  \(stage.rawValue): \(message)"
    }

    /// With one decimal place.
    private static func milliseconds(_ duration: Duration) -> String {
        let tenths = Int((duration / .microseconds(100)).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}

extension LoadTrace: CustomStringConvertible {
    /// One line per stage, in order of their start: the start and the duration in milliseconds, the stage, and what
    /// happened.
    ///
    /// Shared work that was already in progress has a negative start. The text is for people, and may change between
    /// versions.
    public var description: String { entries.map(\.description).joined(separator: "\n") }
}

/// Reads the trace of an operation later. It holds neither the image nor the bytes.
///
/// ```swift
/// let operation = manager.load(WebImageRequest(url)) { _ in }
/// let reader = operation.traceReader
/// // Later, when the image has also been stored:
/// let time = reader.duration(of: .transfer)
/// let addresses = reader.transfers.flatMap(\.metrics.exchanges).compactMap(\.remoteAddress)
/// ```
public struct LoadTraceReader: Sendable {
    let recorder: TraceRecorder
    let start: BootTime

    /// The trace so far.
    public var trace: LoadTrace { recorder.trace(from: start) }

    /// The transfers so far, in order of their start.
    public var transfers: [LoadTransfer] { recorder.transfers(from: start) }

    /// Returns the time that was spent in a stage so far.
    public func duration(of stage: LoadTrace.Stage) -> Duration { recorder.duration(of: stage) }
}

/// A transfer in a trace, of ``LoadTraceReader/transfers``.
public struct LoadTransfer: Sendable {
    /// When it started and how long it took; like those of its ``LoadTrace/Entry``.
    public var start, duration: Duration
    /// The measurements of its exchanges with servers.
    public var metrics: LoaderMetrics

    /// Creates a transfer, such as for a preview of a program's view.
    public init(start: Duration, duration: Duration, metrics: LoaderMetrics) {
        self.start = start
        self.duration = duration
        self.metrics = metrics
    }
}

/// Notes what a piece of work does. Notes are facts, which become text only when the trace is read.
///
/// Work that waits for other work includes its notes, which may still grow:
///
/// ```
///  image, 200 px ─┐
///                 ├─includes─► bytes
///  image, whole ──┘
/// ```
final class TraceRecorder: Sendable {
    private struct Note {
        let stage: LoadTrace.Stage
        let start: BootTime
        let end: BootTime
        let fact: TraceFact
    }

    private struct State {
        var notes: [Note] = []
        var included = Included.none
    }

    /// Most work includes the notes of one other, which need no array.
    private enum Included {
        case none
        case one(TraceRecorder)
        case several([TraceRecorder])

        var all: [TraceRecorder] {
            switch self {
            case .none: []
            case .one(let recorder): [recorder]
            case .several(let recorders): recorders
            }
        }
    }

    private let state = Lock(State())

    /// Notes what has just happened, or has lasted since `start`.
    func note(_ stage: LoadTrace.Stage, since start: BootTime? = nil, _ fact: TraceFact) {
        let end = BootTime.now
        state.withLock { state in
            // Most work has no more notes.
            if state.notes.isEmpty { state.notes.reserveCapacity(3) }
            state.notes.append(Note(stage: stage, start: start ?? end, end: end, fact: fact))
        }
    }

    /// Includes all notes of `other`, also later ones.
    func include(_ other: TraceRecorder) {
        state.withLock { state in
            if case .none = state.included {
                state.included = .one(other)
            } else {
                state.included = .several(state.included.all + [other])
            }
        }
    }

    /// Returns everything noted so far.
    ///
    /// - Parameter start: the zero of all times.
    func trace(from start: BootTime) -> LoadTrace {
        let entries = allNotes.sorted { $0.start < $1.start }.map { note in
            LoadTrace.Entry(
                stage: note.stage, start: note.start - start, duration: note.end - note.start,
                message: note.fact.description, byteCount: note.fact.byteCount, origin: note.fact.origin,
                hasFailed: note.fact.hasFailed)
        }
        return LoadTrace(entries: entries)
    }

    func transfers(from start: BootTime) -> [LoadTransfer] {
        allNotes.sorted { $0.start < $1.start }.compactMap { note in
            guard case .answered(let answer) = note.fact, let metrics = answer.metrics else { return nil }
            return LoadTransfer(start: note.start - start, duration: note.end - note.start, metrics: metrics)
        }
    }

    func duration(of stage: LoadTrace.Stage) -> Duration {
        allNotes.reduce(.zero) { sum, note in sum + (note.stage == stage ? note.end - note.start : .zero) }
    }

    private var allNotes: [Note] {
        let state = state.withLock { $0 }
        return state.included.all.reduce(into: state.notes) { $0 += $1.allNotes }
    }
}
