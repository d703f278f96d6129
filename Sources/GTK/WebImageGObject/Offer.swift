internal import CWebImageGObject
internal import CWebImageGTK
internal import Dispatch
internal import FoundationEssentials
internal import GTKObjects
internal import Synchronization
internal import WebImage

/// A load that a handler of C code answers or declines.
///
///     offered ──► answered, failed, cancelled
///        └──────► declined: another loader's task
final class Offer: Handle, LoaderTask {
    private struct State {
        /// `nil` after the end, and once another loader has it.
        var handler: (@Sendable (LoaderEvent) -> Void)?
        var priority: LoadPriority
        var cancellable: Cancellable?
        var isCancelled = false
        var task: (any LoaderTask)?
    }

    static let byteLimit = 200 << 20
    /// Events must not arrive on the main thread, where handlers answer: a small image is decoded where they do.
    private static let queue = DispatchQueue(label: "webimage-offers")

    private let request: LoaderRequest
    private let other: (any ImageLoader)?
    private let hook: SessionHook
    private let state: Mutex<State>

    /// - Parameter other: loads what the handler declines.
    init(
        _ request: LoaderRequest, priority: LoadPriority, other: (any ImageLoader)?, hook: SessionHook,
        handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.request = request
        self.other = other
        self.hook = hook
        state = Mutex(State(handler: handler, priority: priority))
    }

    /// Stores what cancels the work of the handler, which may have ended it by now.
    func didBegin(_ cancellable: Cancellable) {
        let isCancelled = state.withLock { state in
            if state.handler != nil { state.cancellable = cancellable }
            return state.isCancelled
        }
        if isCancelled { hook.cancel(cancellable) }
    }

    // MARK: LoaderTask

    func cancel() {
        let (cancellable, task) = state.withLock { state in
            state.isCancelled = true
            return (state.cancellable, state.task)
        }
        if let cancellable { hook.cancel(cancellable) }
        if let task { task.cancel() } else { end(.failure(.cancelled)) }
    }

    func setPriority(_ priority: LoadPriority) {
        let task = state.withLock { state in
            state.priority = priority
            return state.task
        }
        task?.setPriority(priority)
    }

    // MARK: Answers

    /// Ends with the file of an image, unless it is cancelled.
    func answer(_ body: Data, contentType: String?, isCacheable: Bool) {
        guard body.count <= Self.byteLimit else {
            let reason = WebImageError.ResponseFailure.bodyTooLong(
                byteCount: Int64(body.count), limit: Int64(Self.byteLimit))
            return end(.failure(.invalidResponse(reason: reason, url: request.url)))
        }
        guard !body.isEmpty else { return end(.failure(.invalidResponse(reason: .emptyBody, url: request.url))) }
        var headers: [HTTPHeader] = []
        if let contentType { headers.append(HTTPHeader(name: "Content-Type", value: contentType)) }
        if !isCacheable { headers.append(HTTPHeader(name: "Cache-Control", value: "no-store")) }
        let response = LoaderResponse(
            url: request.url, statusCode: 200, headers: headers, expectedByteCount: Int64(body.count))
        end(.success(()), after: [.response(response), .bytes(body)])
    }

    func fail(_ message: String) { end(.failure(.custom(id: request.url.absoluteString, message: message))) }

    private func end(_ result: Result<Void, WebImageError>, after events: [LoaderEvent] = []) {
        guard let handler = takeHandler() else { return }
        Self.queue.async {
            for event in events { handler(event) }
            handler(.finished(result))
        }
    }

    private func takeHandler() -> (@Sendable (LoaderEvent) -> Void)? {
        state.withLock { state in
            state.cancellable = nil
            return state.handler.take()
        }
    }

    /// Has the other loader load it, unless it is cancelled.
    func decline() {
        guard let other else {
            let scheme = request.url.scheme ?? ""
            return end(.failure(.invalidRequest(reason: .unsupportedScheme(scheme), url: request.url)))
        }
        guard let handler = takeHandler() else { return }
        Self.queue.async { [self] in
            let priority = state.withLock { $0.priority }
            let task = other.load(request, priority: priority, handler: handler)
            let (isCancelled, latest) = state.withLock { state in
                state.task = task
                return (state.isCancelled, state.priority)
            }
            if latest != priority { task.setPriority(latest) }
            if isCancelled { task.cancel() }
        }
    }
}

extension Offer {
    /// The object of a handle that C code gives back.
    fileprivate static func taking(_ handle: OpaquePointer) -> Offer {
        Unmanaged<Offer>.fromOpaque(UnsafeRawPointer(handle)).takeRetainedValue()
    }
}

@c @implementation
func webimage_bridge_offer_answer(
    _ offer: OpaquePointer, _ bytes: OpaquePointer, _ contentType: UnsafePointer<CChar>?, _ cacheable: gboolean
) {
    Offer.taking(offer).answer(
        Data(sharing: bytes), contentType: String(optional: contentType), isCacheable: cacheable != 0)
}

@c @implementation
func webimage_bridge_offer_fail(_ offer: OpaquePointer, _ message: UnsafePointer<CChar>) {
    Offer.taking(offer).fail(String(cString: message))
}

@c @implementation
func webimage_bridge_offer_decline(_ offer: OpaquePointer) { Offer.taking(offer).decline() }
