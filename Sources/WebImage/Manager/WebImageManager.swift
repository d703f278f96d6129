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
/// thread and none blocks.
public final class WebImageManager: Sendable {
    /// The manager that views and programs use unless they have their own.
    public static let shared = WebImageManager()

    /// What it was made with.
    public let configuration: Configuration

    let pipeline: Pipeline
    private let callbackQueue: any CallbackQueue
    private let running = Lock<[ObjectIdentifier: WebImageOperation]>([:])

    /// Makes a manager.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        callbackQueue = configuration.callbackQueue ?? DispatchQueue(label: "webimage.callbacks")
        pipeline = Pipeline(configuration)
    }

    /// The picture in memory, if it is there: synchronous, without touching the disk.
    ///
    /// `nil` also for a request whose policy wants the loader to answer, and for a URL that no loader of this manager
    /// handles.
    public func cachedImage(for request: WebImageRequest) -> Image? {
        // Without a loader there is nothing: a cache may be shared with managers that load more than this one may.
        pipeline.context(for: request).flatMap(pipeline.imageInMemory)
    }

    /// The picture of `url` in memory, decoded whole, if it is there.
    public func cachedImage(for url: URL) -> Image? { cachedImage(for: WebImageRequest(url)) }

    /// Loads a picture and calls back.
    ///
    /// - Parameters:
    ///   - request: what to load.
    ///   - callbackQueue: where the callbacks run, one at a time; by default the manager's private serial queue. Never
    ///     inside this call, also if the picture is in memory: ``cachedImage(for:)-(WebImageRequest)`` looks there at once.
    ///   - progress: bytes so far, and in all where known; (0, expected) first. Only for what a loader brings. If
    ///     it has to be asked again, progress begins anew; ``WebImageOperation/attempts`` tells why.
    ///   - preview: pictures that will do until the end, as a stored one while the server is asked whether it is still good;
    ///     mostly none. One that could not be delivered yet is replaced by the next.
    ///   - completion: called exactly once, with ``WebImageError/cancelled`` after a cancel.
    /// - Returns: the operation, to cancel it or change its priority. Dropping it does not cancel.
    @discardableResult
    public func load(
        _ request: WebImageRequest, callbackQueue: (any CallbackQueue)? = nil,
        progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        preview: (@Sendable (Image) -> Void)? = nil,
        completion: @escaping @Sendable (Result<WebImageResponse, WebImageError>) -> Void
    ) -> WebImageOperation {
        let operation = WebImageOperation(
            request: request, callbackQueue: callbackQueue ?? self.callbackQueue, progress: progress,
            preview: preview, completion: completion)
        guard let context = pipeline.context(for: request) else {
            keep(operation)
            operation.finish(.failure(ImageLoaderGroup.error(forUnloadable: request.url)))
            return operation
        }
        if let image = pipeline.imageInMemory(for: context) {
            operation.recorder.note(.memory, .memoryAnswered)
            operation.finish(.success(WebImageResponse(image: image, url: request.url, origin: .memoryCache)))
            return operation
        }
        keep(operation)
        let step = pipeline.join(context, trace: operation.recorder) { event in
            switch event {
            case .progress(let progress): operation.report(progress)
            case .attempts(let attempts): operation.report(attempts)
            case .bytes: break
            case .provisional(let response, let number): operation.report(response.image, number: number)
            case .finished(let result): operation.finish(result)
            }
        }
        if let step { operation.attach(step) }
        return operation
    }

    /// Cancels every load that is under way; each completion gets ``WebImageError/cancelled``.
    public func cancelAll() {
        let operations = running.withLock { Array($0.values) }
        for operation in operations { operation.cancel() }
    }

    /// The loads under way, as they are now, without those that memory answered.
    public var runningOperations: [WebImageOperation] { running.withLock { Array($0.values) } }

    private func keep(_ operation: WebImageOperation) {
        let id = ObjectIdentifier(operation)
        running.withLock { $0[id] = operation }
        operation.whenEnded { [weak self] in
            _ = self?.running.withLock { $0.removeValue(forKey: id) }
        }
    }
}
