import WebImageCaching
import WebImageCore

/// Images that are prefetched together and can be cancelled together. Releasing the batch does not cancel it.
///
/// ```swift
/// let prefetcher = ImagePrefetcher()
/// let batch = prefetcher.prefetch(urls.map { WebImageRequest($0) }) { progress in print(progress) }
/// batch.cancel()
/// ```
public final class PrefetchBatch: Sendable {
    /// A request, and the key of its image.
    struct Job: Sendable {
        let request: WebImageRequest
        let key: ImageCacheKey
    }

    private struct Load {
        let job: Job
        /// `nil` while the load is being started.
        var operation: WebImageOperation?
        var isCancelled = false
    }

    private struct State {
        var waiting: ArraySlice<Job>
        /// Those that have begun and not ended.
        var loads: [Int: Load] = [:]
        var lastNumber = 0
        var progress: PrefetchProgress
        /// The progress that was reported last.
        var reported: PrefetchProgress?
        var progressHandler: (@Sendable (PrefetchProgress) -> Void)?
        var completion: (@Sendable (PrefetchProgress) -> Void)?
    }

    private let callbackQueue: any CallbackQueue
    private let state: Lock<State>

    init(
        _ jobs: [Job], callbackQueue: any CallbackQueue,
        progress: (@Sendable (PrefetchProgress) -> Void)?, completion: (@Sendable (PrefetchProgress) -> Void)?
    ) {
        self.callbackQueue = callbackQueue
        state = Lock(
            State(
                waiting: jobs[...], progress: PrefetchProgress(total: jobs.count),
                progressHandler: progress, completion: completion))
    }

    /// The current progress.
    public var progress: PrefetchProgress { state.withLock { $0.progress } }

    /// Cancels what is not loaded yet. It counts as failed, and the completion is called.
    public func cancel() {
        let operations = state.withLock { state -> [WebImageOperation] in
            guard !state.progress.isFinished else { return [] }
            state.progress.isCancelled = true
            state.progress.failed += state.waiting.count
            state.waiting = []
            return state.loads.values.compactMap(\.operation)
        }
        for operation in operations { operation.cancel() }
        report()
    }

    /// Cancels the jobs for which `isCancelled`, which is called under a lock, returns `true`, and that are not loaded yet. They count as
    /// failed.
    func cancel(where isCancelled: (Job) -> Bool) {
        let operations = state.withLock { state -> [WebImageOperation] in
            let count = state.waiting.count
            state.waiting = state.waiting.filter { !isCancelled($0) }[...]
            state.progress.failed += count - state.waiting.count
            let numbers = state.loads.filter { isCancelled($0.value.job) }.map(\.key)
            for number in numbers { state.loads[number]?.isCancelled = true }
            return numbers.compactMap { state.loads[$0]?.operation }
        }
        for operation in operations { operation.cancel() }
        report()
    }

    // MARK: For the prefetcher

    var hasWaiting: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Returns the next request to load and the number of its load, for ``attach(_:_:)`` and ``end(_:_:)``; `nil` if none waits.
    func next() -> (number: Int, request: WebImageRequest)? {
        state.withLock { state in
            guard let job = state.waiting.popFirst() else { return nil }
            state.lastNumber += 1
            state.loads[state.lastNumber] = Load(job: job)
            return (state.lastNumber, job.request)
        }
    }

    func attach(_ operation: WebImageOperation, _ number: Int) {
        let isCancelled = state.withLock { state in
            // It has ended already if memory has the image.
            guard state.loads[number] != nil else { return false }
            state.loads[number]?.operation = operation
            return state.progress.isCancelled || state.loads[number]?.isCancelled == true
        }
        if isCancelled { operation.cancel() }
    }

    func end(_ number: Int, _ result: Result<WebImageResponse, WebImageError>) {
        state.withLock { state in
            state.loads[number] = nil
            switch result {
            case .success(let response) where response.origin == .remote: state.progress.loaded += 1
            case .success: state.progress.skipped += 1
            case .failure: state.progress.failed += 1
            }
        }
        report()
    }

    /// Reports the progress on the callback queue if it has changed. Calls the completion at the end.
    func report() {
        callbackQueue.enqueue { [self] in
            let (progress, progressHandler, completion) = state.withLock { state in
                let progress = state.progress
                let isNews = state.reported != progress
                state.reported = progress
                defer { if progress.isFinished { (state.progressHandler, state.completion) = (nil, nil) } }
                return (
                    progress, isNews && progress.finished > 0 ? state.progressHandler : nil,
                    progress.isFinished ? state.completion : nil
                )
            }
            progressHandler?(progress)
            completion?(progress)
        }
    }
}

/// The progress of a batch of prefetches.
public struct PrefetchProgress: Sendable, Hashable {
    /// The number of images, each counted once.
    public var total: Int
    /// The number of images that were loaded.
    public var loaded = 0
    /// The number of images that were cached already.
    public var skipped = 0
    /// The number of images that failed or were cancelled.
    public var failed = 0
    /// Whether the batch was cancelled.
    public var isCancelled = false

    init(total: Int) { self.total = total }

    /// The number of images that were loaded, skipped or failed.
    public var finished: Int { loaded + skipped + failed }
    /// Whether no images remain.
    public var isFinished: Bool { finished == total }
}
