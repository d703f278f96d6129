public import WebImageCore

/// Decodes images in separate processes that can do nothing else: no file, no network, no other process.
///
/// A file that breaks a codec breaks its process, and its load ends with
/// ``WebImageError/isolation(format:reason:url:)``. Other loads go on.
///
///     manager ─▶ CodecRegistry.isolated(by:) ─▶ IsolatedDecoder ─▶ DecoderPool ─▶ webimage-decoder, in its sandbox
///
/// Managers use ``shared`` with the policy of their configuration. Processes start when the first image needs one, and end after
/// some time without work.
///
/// ```swift
/// let isolated = CodecRegistry.shared.isolated(by: .allFormats)
/// let image = try isolated.decode(data)
/// print(IsolatedDecoding.shared.blockingStatus.counters.imageCount)
/// ```
public final class IsolatedDecoding: Sendable {
    /// The processes that all managers share.
    public static let shared = IsolatedDecoding()

    /// How processes are started and ended.
    public struct Configuration: Sendable {
        /// The path of `webimage-decoder`. `nil`, the default, looks beside the program, in `../libexec/webimage` and
        /// `../lib/webimage` from there, and in the system's folders for such programs. `PATH` is never searched.
        public var path: String?
        /// The maximum number of processes that work at once; by default one per processor and per 256 MiB of the memory that the program may
        /// use, at most 4. A process has loaded the library of one format, and works on no other format of a library. As many processes for
        /// each library may be kept without work, and at most twice as many together: the oldest ones end first.
        public var processCount = defaultProcessCount(memoryByteCount: AvailableMemory.totalBytes())
        /// How long a process is kept without work; 30 s by default.
        public var idlePeriod = Duration.seconds(30)
        /// After how many images a process is replaced, so that what one of them left behind does not last; 1,000 by default.
        public var imagesPerProcess = 1000
        /// The maximum wall-clock time for decoding an image, with the wait for a process; 600 s by default. With
        /// ``DecodingLimits/processorTime``, a process has at most twice that time and a second. Encoding is not limited: it takes as long as its
        /// options make it.
        public var timePerImage = Duration.seconds(600)
        /// After how long an image leaves its place in ``processCount`` to another. A few images may do so at once.
        var slowPeriod = Duration.milliseconds(300)
        /// Whether a process is started before an image needs it.
        public var keepsProcessReady = false

        /// Creates a configuration with the defaults.
        public init() {}

        var location: DecoderLocation { DecoderLocation(explicit: path) }

        static func defaultProcessCount(memoryByteCount: Int) -> Int {
            max(1, min(PlatformThread.processorCount, 4, memoryByteCount / (256 << 20)))
        }
    }

    /// The counts of decoder processes, their images and their failures.
    public struct Counters: Sendable, Equatable {
        /// The number of processes that were started.
        public var startedProcessCount = 0
        /// The number of images that were decoded or encoded.
        public var imageCount = 0
        /// The number of processes that crashed, took too long, or returned something invalid, by format.
        public var failures: [ImageFormat: Int] = [:]
    }

    /// The state of isolation.
    public struct Status: Sendable {
        /// The program that decodes; `nil` if there is none, for the reason in ``problem``.
        public var path: String?
        /// Why no process can be started; `nil` if one can, or if it was not tried.
        public var problem: String?
        /// The layers that hold in the process started last. Empty before the first.
        public var layers: Set<SandboxLayer>
        /// Why other layers do not hold: the system's messages.
        public var missingLayers: [SandboxLayer: String]
        /// The counts so far.
        public var counters: Counters
    }

    let configuration: Configuration
    let pool: DecoderPool
    let files = SharedFiles()

    /// Creates a group of processes of its own.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        pool = DecoderPool(configuration)
    }

    /// The state of isolation. If no process has been started, it starts one, to say what the kernel allows, which blocks for some
    /// 20 ms.
    public var blockingStatus: Status {
        var problem: String?
        if pool.latestReport == nil {
            do {
                try pool.withProcess(within: WaitLimit(deadline: Channel.Limit.now + 15)) { _ in }
            } catch {
                problem = (error as? UnavailableDecoder)?.reason
            }
        }
        let report = pool.latestReport
        return Status(
            path: try? configuration.location.path(), problem: problem, layers: report?.layers ?? [],
            missingLayers: (report?.errors ?? [:]).mapValues(systemMessage), counters: pool.counters)
    }

    /// Whether there is a program to start.
    var hasProgram: Bool { (try? configuration.location.path()) != nil }

    /// The number of images that have taken longer than 300 ms in a decoder process, and are not done.
    public var slowImageCount: Int { pool.slowImageCount }

    /// The number of processes that are being started, also for images that another process has decoded meanwhile; for tests.
    var startingCount: Int { pool.state.withLock { $0.starting.count } }

    /// Calls `body` after ``slowImageCount`` has grown, on any thread, until the observer is removed.
    ///
    /// - Parameters:
    ///   - observer: identifies the observation; it is not retained.
    ///   - body: must return soon.
    public func observeSlowImages(by observer: AnyObject, _ body: @escaping @Sendable () -> Void) {
        pool.state.withLock { $0.slowImageObservers[ObjectIdentifier(observer)] = body }
    }

    /// Ends the calls for an observer.
    public func removeSlowImageObserver(_ observer: AnyObject) {
        _ = pool.state.withLock { $0.slowImageObservers.removeValue(forKey: ObjectIdentifier(observer)) }
    }

    /// Starts a process if the configuration keeps one ready. Does not wait for it.
    public func prepare() { pool.changeState { _ in } }

    /// Ends the processes that have no work now. The next image starts one.
    public func endIdleProcesses() { pool.endIdleProcesses() }
}
