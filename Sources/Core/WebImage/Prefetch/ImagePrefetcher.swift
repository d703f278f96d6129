public import FoundationEssentials
import WebImageCaching
public import WebImageCore

/// Loads images before they are requested.
///
/// ```swift
/// let prefetcher = ImagePrefetcher()
/// let batch = prefetcher.prefetch(urls.map { WebImageRequest($0) }) { print("\($0.loaded) of \($0.total) fetched") }
/// batch.cancel()
/// ```
///
/// A few images load at once, at low priority, so that connections, threads and the disk serve the images on screen
/// first. While the manager has any load that is not a prefetch, only one image loads at a time. In low-data mode
/// (``WebImageManager/isLowDataModeEnabled``) no further loads start. A load of an image
/// that is being prefetched joins the prefetch, which then continues at the higher priority. Every function may be
/// called from any thread.
public final class ImagePrefetcher: Sendable {
    /// Where a prefetcher puts images.
    enum Destination: Sendable, Hashable {
        /// Only on disk. Files are loaded, but not decoded (``WebImageOptions/ignoreDecoding``).
        case disk
        /// On disk, and decoded in memory.
        case memory
    }

    let destination: Destination
    private let priority: LoadPriority
    private let manager: WebImageManager
    private let callbackQueue: any CallbackQueue
    private let idleHandler: Int
    private let schedule: Schedule

    /// Creates a prefetcher that loads through `manager`.
    ///
    /// - Parameters:
    ///   - manager: the manager that loads, and whose caches are filled.
    ///   - decodes: whether images are decoded into memory; `true` by default. If `false`, files are only downloaded to
    ///     the disk cache (``WebImageOptions/ignoreDecoding``).
    ///   - maximumConcurrentCount: the number of images that load at once; 3 by default.
    ///   - priority: the priority of all prefetches; ``LoadPriority/low`` by default. The priorities of the requests
    ///     are ignored.
    ///   - callbackQueue: the queue for progress and completions; `nil`, the default, uses the manager's queue.
    public init(
        manager: WebImageManager = .shared, decodes: Bool = true, maximumConcurrentCount: Int = 3,
        priority: LoadPriority = .low, callbackQueue: (any CallbackQueue)? = nil
    ) {
        self.manager = manager
        destination = decodes ? .memory : .disk
        self.priority = priority
        self.callbackQueue = callbackQueue ?? manager.callbackQueue
        let schedule = Schedule(manager, maximumConcurrentCount: maximumConcurrentCount)
        self.schedule = schedule
        idleHandler = manager.running.addIdleHandler { [weak schedule] in schedule?.startNext() }
    }

    deinit {
        manager.running.removeIdleHandler(idleHandler)
        // Nothing else could resume it.
        if schedule.isPaused { schedule.cancelAll() }
    }

    /// Starts to load a batch after the batches that were added before; returns at once.
    ///
    /// - Parameters:
    ///   - requests: what to load. Requests for the same image (on disk, for the same file) are loaded and counted
    ///     once.
    ///   - progress: called after each image.
    ///   - completion: called exactly once, at the end; also for an empty batch and after a cancellation.
    @discardableResult
    public func prefetch(
        _ requests: [WebImageRequest], progress: (@Sendable (PrefetchProgress) -> Void)? = nil,
        completion: @escaping @Sendable (PrefetchProgress) -> Void
    ) -> PrefetchBatch {
        var seen: Set<ImageCacheKey> = []
        let jobs = requests.map(job).filter { seen.insert($0.key).inserted }
        let batch = PrefetchBatch(jobs, callbackQueue: callbackQueue, progress: progress, completion: completion)
        schedule.add(batch)
        return batch
    }

    /// Loads a batch and returns when it has ended. Cancelling the task cancels the batch.
    public func prefetch(_ requests: [WebImageRequest]) async -> PrefetchProgress {
        let waiter = Waiter<PrefetchProgress>()
        let batch = prefetch(requests) { waiter.resume($0) }
        return await withTaskCancellationHandler {
            await waiter.value
        } onCancel: {
            batch.cancel()
        }
    }

    /// Like the overload for requests, with a plain request for each URL.
    @discardableResult
    public func prefetch(
        _ urls: [URL], progress: (@Sendable (PrefetchProgress) -> Void)? = nil,
        completion: @escaping @Sendable (PrefetchProgress) -> Void
    ) -> PrefetchBatch {
        prefetch(urls.map { WebImageRequest($0) }, progress: progress, completion: completion)
    }

    /// Loads a batch with a plain request for each URL, and returns when it has ended. Cancelling the task cancels the batch.
    public func prefetch(_ urls: [URL]) async -> PrefetchProgress { await prefetch(urls.map { WebImageRequest($0) }) }

    /// Whether the prefetcher is paused. It then starts no further loads, and loads in progress continue.
    public var isPaused: Bool {
        get { schedule.isPaused }
        set { schedule.isPaused = newValue }
    }

    /// Cancels single requests of all batches, such as those of rows that are far from the screen now. Requests that have been loaded
    /// stay; the others count as failed.
    ///
    /// - Parameter requests: requests for the same images as those that were added.
    public func cancel(_ requests: [WebImageRequest]) {
        let keys = Set(requests.map { job($0).key })
        schedule.cancel { keys.contains($0.key) }
    }

    /// Cancels all requests for these URLs, of all batches and sizes.
    public func cancel(_ urls: [URL]) {
        let urls = Set(urls)
        schedule.cancel { urls.contains($0.request.url) }
    }

    /// Cancels all batches. Each completion is called.
    public func cancelAll() { schedule.cancelAll() }

    private func job(_ request: WebImageRequest) -> PrefetchBatch.Job {
        var request = request
        request.priority = priority
        request.options.subtract(WebImageOptions.allPreviews.union([.queryDiskSync, .queryMemoryData]))
        if !request.hasStandardDetails { request.lowResolutionURL = nil }
        if destination == .disk { request.options.insert(.ignoreDecoding) }
        return PrefetchBatch.Job(request: request, key: manager.cacheKey(for: request))
    }
}
