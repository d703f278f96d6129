public import FoundationEssentials
public import WebImageCore

/// Loads pictures before anybody asks for them.
///
/// ```swift
/// let prefetcher = ImagePrefetcher()
/// let batch = prefetcher.prefetch(nextPage) { print("\($0.loaded) of \($0.total) fetched") }
/// batch.cancel()
/// ```
///
/// A few at a time and with low priority, so that connections, threads and disk serve the pictures on screen first; while its
/// manager has any load that somebody waits for, one at a time. A picture that is asked for meanwhile joins its prefetch,
/// which goes on with the higher priority. Every function may be called from any thread.
public final class ImagePrefetcher: Sendable {
    /// Where pictures are to be.
    public enum Destination: Sendable, Hashable {
        /// On disk alone: files are fetched, and not decoded (``WebImageOptions/ignoreDecoding``).
        case disk
        /// On disk, and decoded in memory.
        case memory
    }

    /// How a prefetcher works.
    public struct Configuration: Sendable {
        /// Where pictures are to be; ``Destination/memory`` by default.
        public var destination = Destination.memory
        /// How many are loaded at once; 3 by default.
        public var maximumConcurrentCount = 3
        /// How urgent they are; ``LoadPriority/low`` by default. That of the requests does not count.
        public var priority = LoadPriority.low
        /// Where progress and completions are called; `nil`, the default, for the manager's queue.
        public var callbackQueue: (any CallbackQueue)?

        /// Makes the defaults.
        public init() {}
    }

    /// How it was made.
    public let configuration: Configuration
    private let manager: WebImageManager
    private let callbackQueue: any CallbackQueue
    private let idleHandler: Int
    private let schedule: Schedule

    /// Makes a prefetcher for the pictures of `manager`.
    public init(manager: WebImageManager = .shared, configuration: Configuration = Configuration()) {
        self.manager = manager
        self.configuration = configuration
        callbackQueue = configuration.callbackQueue ?? manager.callbackQueue
        let schedule = Schedule(manager, configuration)
        self.schedule = schedule
        idleHandler = manager.running.addIdleHandler { [weak schedule] in schedule?.startNext() }
    }

    deinit {
        manager.running.removeIdleHandler(idleHandler)
        // Nobody could resume it.
        if schedule.isPaused { schedule.cancelAll() }
    }

    /// Begins to load a batch, behind those that were asked for before; returns at once.
    ///
    /// - Parameters:
    ///   - requests: what to load. Those that come to the same picture (to disk: to the same file) are loaded and counted
    ///     once.
    ///   - progress: called after each.
    ///   - completion: called exactly once, at the end: also for an empty batch, and after a cancel.
    @discardableResult
    public func prefetch(
        _ requests: [WebImageRequest], progress: (@Sendable (PrefetchProgress) -> Void)? = nil,
        completion: @escaping @Sendable (PrefetchProgress) -> Void
    ) -> PrefetchBatch {
        var seen: Set<AnyHashable> = []
        let jobs = requests.map(prefetching).filter { request in
            seen.insert(AnyHashable(manager.cacheKey(for: request))).inserted
        }
        let batch = PrefetchBatch(
            requests: jobs, callbackQueue: callbackQueue, progress: progress, completion: completion)
        schedule.add(batch)
        return batch
    }

    /// Begins to load the pictures at `urls`, decoded whole; see ``prefetch(_:progress:completion:)-([WebImageRequest],_,_)``.
    @discardableResult
    public func prefetch(
        _ urls: [URL], progress: (@Sendable (PrefetchProgress) -> Void)? = nil,
        completion: @escaping @Sendable (PrefetchProgress) -> Void
    ) -> PrefetchBatch { prefetch(urls.map { WebImageRequest($0) }, progress: progress, completion: completion) }

    /// Begins to load a batch; see ``prefetch(_:progress:completion:)-([WebImageRequest],_,_)``.
    @discardableResult
    public func prefetch(_ requests: [WebImageRequest]) -> PrefetchBatch { prefetch(requests) { _ in } }

    /// Begins to load the pictures at `urls`, decoded whole.
    @discardableResult
    public func prefetch(_ urls: [URL]) -> PrefetchBatch { prefetch(urls) { _ in } }

    /// Loads a batch and returns at its end; a task that is cancelled cancels it.
    public func prefetched(_ requests: [WebImageRequest]) async -> PrefetchProgress {
        let waiter = Waiter<PrefetchProgress>()
        let batch = prefetch(requests) { waiter.resume($0) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter.attach($0) }
        } onCancel: {
            batch.cancel()
        }
    }

    /// Whether it starts no more loads for now; those under way go on.
    public var isPaused: Bool {
        get { schedule.isPaused }
        set { schedule.isPaused = newValue }
    }

    /// Cancels all batches; each completion is called.
    public func cancelAll() { schedule.cancelAll() }

    private func prefetching(_ request: WebImageRequest) -> WebImageRequest {
        var request = request
        request.priority = configuration.priority
        request.options.subtract([
            .progressive, .progressiveBlur, .queryDiskSync, .queryMemoryData,
        ])
        if !request.hasStandardDetails { request.lowResolutionURL = nil }
        if configuration.destination == .disk { request.options.insert(.ignoreDecoding) }
        return request
    }
}
