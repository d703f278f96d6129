import Dispatch
import FoundationEssentials
public import WebImageCore

/// Loads images from memory, from the disk cache, or through a loader from the network or a file.
///
/// ```swift
/// let image = try await WebImageManager.shared.image(at: url)
/// ```
///
/// Requests for the same image share the work, regardless of the function that started them. Every function may be
/// called from any thread. None blocks, except ``blockingCachedImage(for:)`` and loads with ``WebImageOptions/queryDiskSync``.
///
/// There is no queue of loads. Each starts at once, and shared resources such as connections and threads serve loads in
/// order of priority.
public final class WebImageManager: Sendable {
    /// The manager that views, prefetchers and programs use by default. Without another it is made at first use, with the default
    /// configuration.
    ///
    /// Set it at the start of a program. What has begun with the manager before continues with it.
    ///
    /// ```swift
    /// WebImageManager.shared = WebImageManager(configuration: .server)
    /// ```
    public static var shared: WebImageManager {
        get { chosenManager.withLock { $0 } ?? standardManager }
        set {
            let old = chosenManager.withLock { exchange(&$0, with: newValue) }
            // Released outside the lock.
            withExtendedLifetime(old) {}
        }
    }

    private static let standardManager = WebImageManager()
    private static let chosenManager = Lock<WebImageManager?>(nil)

    /// The manager's configuration.
    public let configuration: Configuration

    let pipelines: PipelineTable
    let running = RunningLoads()
    let blockList: BlockList
    let lowDataMode: LowDataMode
    let callbackQueue: any CallbackQueue

    /// Creates a manager.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        callbackQueue = configuration.callbackQueue ?? BatchingCallbackQueue(label: "webimage.callbacks")
        pipelines = PipelineTable(configuration)
        blockList = BlockList(duration: configuration.blockDuration)
        lowDataMode = LowDataMode(configuration.network)
    }

    /// Returns the image in memory; `nil` if there is none. Never reads the disk, and never blocks.
    ///
    /// Also returns `nil` for a request whose policy requires the loader, and for a URL that no loader of this manager
    /// loads.
    public func cachedImage(for request: WebImageRequest) -> Image? {
        // Without a loader there is no image, because the cache may be shared with managers that may load more than
        // this one.
        if configuration.optionsProcessor == nil, request.isFoundByKey {
            let pipeline = pipelines.standard
            return pipeline.loaders.canLoad(request.url, isHTTP: request.address.isHTTP)
                ? pipeline.imageInMemory(for: request, key: request.cacheKey) : nil
        }
        guard let (pipeline, context) = place(of: prepared(request)) else { return nil }
        return pipeline.imageInMemory(for: context)
    }

    /// Returns the image in memory, or the one that the disk's bytes give; `nil` if there is none. Blocks while it reads and decodes.
    ///
    /// Like ``cachedImage(for:)`` otherwise. Disks of custom caches are not read.
    @available(*, noasync, message: "It blocks on the disk; use image(for:) with the policy cacheOnly")
    public func blockingCachedImage(for request: WebImageRequest) -> Image? {
        guard let (pipeline, context) = place(of: prepared(request)) else { return nil }
        return pipeline.imageInMemory(for: context) ?? pipeline.responseFromDisk(for: context)?.image
    }

    /// Starts to load an image, and calls the completion with the result.
    ///
    /// - Parameters:
    ///   - request: what to load.
    ///   - callbackQueue: where the callbacks run, one at a time; by default the manager's. They
    ///     never run inside this call, even if the image is in memory. ``cachedImage(for:)`` returns such an
    ///     image at once.
    ///   - progress: called with the number of bytes so far and the total, if known. The first call has (0, expected).
    ///     Only bytes from a loader count. Progress starts again with each further attempt at a loader;
    ///     ``WebImageOperation/traceDescription`` tells why.
    ///   - preview: called with images to show until the end. These are a stored image while it is revalidated,
    ///     another size in memory, the low-resolution image, and with
    ///     ``WebImageOptions/progressive`` the part of the file that has arrived. Most loads have none. A preview that
    ///     is not delivered yet is replaced by the next.
    ///   - completion: called exactly once; with ``WebImageError/cancelled`` after a cancellation.
    /// - Returns: the operation, to cancel the load or change its priority. Releasing it does not cancel the load.
    @discardableResult
    public func load(
        _ request: WebImageRequest, callbackQueue: (any CallbackQueue)? = nil,
        progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        preview: (@Sendable (Image) -> Void)? = nil,
        completion: @escaping @Sendable (Result<WebImageResponse, WebImageError>) -> Void
    ) -> WebImageOperation {
        let request = prepared(request)
        let queue = callbackQueue ?? (request.hasStandardDetails ? nil : request.callbackQueue) ?? self.callbackQueue
        return start(
            request, WebImageOperation.Callbacks(queue, progress: progress, preview: preview, completion: completion),
            mayBlock: true)
    }

    /// Starts to load an image. ``WebImageOperation/response`` waits for the result.
    ///
    /// ```swift
    /// let operation = manager.load(WebImageRequest(url))
    /// operation.priority = .high
    /// let response = try await operation.response
    /// ```
    public func load(_ request: WebImageRequest) -> WebImageOperation {
        // Nothing is called back. Another queue would only be another thread on the way.
        start(prepared(request), WebImageOperation.Callbacks(DirectCallbackQueue()), mayBlock: true)
    }

    /// Cancels all loads in progress. Each completion receives ``WebImageError/cancelled``. Does not cancel
    /// ``data(for:)``, which is cancelled with its task.
    public func cancelAll() {
        for operation in running.operations { operation.cancel() }
    }

    /// The loads in progress, without those that memory answered.
    public var runningOperations: [WebImageOperation] { running.operations }

    /// Whether any load is in progress.
    var isRunning: Bool { running.count > 0 }

    /// Whether loads that memory cannot answer wait. Loads in progress and ``data(for:)`` continue. When
    /// this becomes `false`, the waiting loads start in order of priority.
    public var isSuspended: Bool {
        get { running.isSuspended }
        set { running.setSuspended(newValue) }
    }

    /// Returns the pipeline and the context of a request; `nil` if no loader loads its URL.
    ///
    /// - Parameter call: for data of any kind; `nil` for images.
    func place(
        of request: WebImageRequest, call: LoadContext.Call? = nil
    ) -> (pipeline: Pipeline, context: LoadContext)? {
        let pipeline = pipelines.pipeline(for: request)
        return pipeline.context(for: request, call: call).map { (pipeline, $0) }
    }
}
