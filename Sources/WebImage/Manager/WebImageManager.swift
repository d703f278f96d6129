import Dispatch
public import FoundationEssentials
public import WebImageCore

/// Loads pictures: from memory, from the disk cache, from the network or a file, whichever has them first.
///
/// ```swift
/// let image = try await WebImageManager.shared.image(at: url)
/// ```
///
/// Requests for the same picture share the work, whichever way they were made. Every function may be called from any
/// thread and none blocks, except where an option asks for it (``WebImageOptions/queryDiskSync``,
/// ``WebImageOptions/queryMemoryDataSync``). There is no queue of loads: each starts at once, and what it shares with others, such
/// as connections and threads, goes by priority.
public final class WebImageManager: Sendable {
    /// The manager that views and programs use unless they have their own.
    public static let shared = WebImageManager()

    /// What it was made with.
    public let configuration: Configuration

    let pipelines: PipelineTable
    let running = RunningLoads()
    let blockList: BlockList
    /// Whether requests are to be completed before they are used.
    let completesRequests: Bool
    let processesEverything: Bool
    let callbackQueue: any CallbackQueue

    /// Makes a manager.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        callbackQueue = configuration.callbackQueue ?? DispatchQueue(label: "webimage.callbacks")
        pipelines = PipelineTable(configuration)
        blockList = BlockList(duration: configuration.blockDuration)
        completesRequests = configuration.completesRequests
        processesEverything = configuration.processesEverything
    }

    /// The picture in memory, if it is there: synchronous, without touching the disk.
    ///
    /// `nil` also for a request whose policy wants the loader to answer, and for a URL that no loader of this manager
    /// handles. With ``WebImageOptions/queryDiskSync`` the disk is asked too, which blocks.
    public func cachedImage(for request: WebImageRequest) -> Image? {
        // Without a loader there is nothing: a cache may be shared with managers that load more than this one may.
        guard let (pipeline, context) = place(of: prepared(request)) else { return nil }
        if let image = pipeline.imageInMemory(for: context) { return image }
        return context.request.options.contains(.queryDiskSync) ? pipeline.responseFromDisk(for: context)?.image : nil
    }

    /// The picture of `url` in memory, decoded whole, if it is there.
    public func cachedImage(for url: URL) -> Image? { cachedImage(for: WebImageRequest(url)) }

    /// Loads a picture and calls back.
    ///
    /// - Parameters:
    ///   - request: what to load.
    ///   - callbackQueue: where the callbacks run, one at a time; by default the request's queue, or else the manager's private
    ///     serial queue. Never inside this call, also if the picture is in memory:
    ///     ``cachedImage(for:)-(WebImageRequest)`` looks there at once.
    ///   - progress: bytes so far, and in all where known; (0, expected) first. Only for what a loader brings. If
    ///     it has to be asked again, progress begins anew; ``WebImageOperation/attempts`` tells why.
    ///   - preview: pictures that will do until the end: a stored one while the server is asked whether it is still good,
    ///     another size that memory has, the low-resolution picture, what has arrived with
    ///     ``WebImageOptions/progressive``; mostly none. One that could not be delivered yet is replaced by the next.
    ///   - completion: called exactly once, with ``WebImageError/cancelled`` after a cancel.
    /// - Returns: the operation, to cancel it or change its priority. Dropping it does not cancel.
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

    /// Cancels every load that is under way; each completion gets ``WebImageError/cancelled``. Not
    /// ``data(for:method:body:)``, which is its task's.
    public func cancelAll() {
        for operation in running.operations { operation.cancel() }
    }

    /// The loads under way, as they are now, without those that memory answered.
    public var runningOperations: [WebImageOperation] { running.operations }

    /// Whether any load is under way.
    public var isRunning: Bool { running.count > 0 }

    /// Whether loads that memory can't answer wait until this is `false` again; those under way, and
    /// ``data(for:method:body:)``, go on. The most urgent start first then.
    public var isSuspended: Bool {
        get { running.isSuspended }
        set { running.setSuspended(newValue) }
    }

    /// Where a request is worked on, and as what; `nil` when no loader handles its URL.
    ///
    /// - Parameter call: for what is no picture.
    func place(
        of request: WebImageRequest, call: LoadContext.Call? = nil
    ) -> (pipeline: Pipeline, context: LoadContext)? {
        let pipeline = pipelines.pipeline(for: request)
        return pipeline.context(for: request, call: call).map { (pipeline, $0) }
    }
}
