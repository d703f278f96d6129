public import FoundationEssentials
public import WebImage
import WebImageCore

/// A loader that answers what a test says, without a network, and records what it was asked for.
///
/// ```swift
/// let loader = TestImageLoader()
/// loader.answer(url, with: .image(photo), after: .seconds(2))
/// let manager = WebImageManager(configuration: .testing(loader))
///
/// let operation = manager.load(WebImageRequest(url))
/// try await loader.waitForRequests()
/// loader.clock.advance(by: .seconds(2))
/// let response = try await operation.response
/// ```
///
/// It loads every URL, with http and https or any other scheme. All functions may be called from any thread.
public final class TestImageLoader: ImageLoader {
    /// A response of a ``TestImageLoader``.
    public enum Answer: Sendable {
        /// An image with status 200: its ``WebImage/Image/data`` if it has any, otherwise a PNG file, or a GIF file for an animation.
        case image(Image)
        /// A response with a status, header fields and a body. As from a server, other statuses than 2xx are errors of an image's load.
        case response(Int, headers: [String: String] = [:], body: Data = Data())
        /// An error without a response, such as a lost connection.
        case failure(WebImageError)
    }

    /// The clock of delayed responses.
    public let clock: ManualClock

    private struct State {
        var answers: [URL: (answer: Answer, delay: Duration)] = [:]
        var requests: [LoaderRequest] = []
        var runningCount = 0
        var cancelledCount = 0
    }

    private let isCacheable: Bool
    private let otherwise: @Sendable (LoaderRequest) -> Answer
    private let state = Lock(State())
    private let observers = CountObservers()

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - clock: for delayed responses; a new one by default.
    ///   - isCacheable: whether the disk cache stores the bytes, as those of servers; `true` by default.
    ///   - otherwise: returns the answer for a URL without one; status 404 by default. It may be called on any thread, several times at
    ///     once.
    public init(
        clock: ManualClock = ManualClock(), isCacheable: Bool = true,
        otherwise: @escaping @Sendable (LoaderRequest) -> Answer = { _ in .response(404) }
    ) {
        self.clock = clock
        self.isCacheable = isCacheable
        self.otherwise = otherwise
    }

    /// Sets the answer to each request for `url`.
    ///
    /// - Parameters:
    ///   - url: with its query.
    ///   - answer: replaces an earlier one.
    ///   - delay: how much time of the ``clock`` passes before it; zero by default, which answers within the call that loads.
    public func answer(_ url: URL, with answer: Answer, after delay: Duration = .zero) {
        state.withLock { $0.answers[url] = (answer, delay) }
    }

    // MARK: What happened

    /// The requests so far, in the order in which they arrived. Requests that caches answered are not among them, and requests that share
    /// a transfer are one.
    public var requests: [LoaderRequest] { state.withLock { $0.requests } }
    /// How many loads wait for their answer.
    public var runningCount: Int { state.withLock { $0.runningCount } }
    /// How many loads were cancelled before their answer.
    public var cancelledCount: Int { state.withLock { $0.cancelledCount } }

    /// Waits until there were at least `count` requests; 1 by default.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, as by a test's time limit.
    public func waitForRequests(_ count: Int = 1) async throws {
        try await observers.wait(for: count) { requests.count }
    }

    // MARK: ImageLoader

    /// Returns `true`.
    public func canLoad(_ url: URL) -> Bool { true }

    /// Returns what the initializer was told.
    public func isCacheable(_ url: URL) -> Bool { isCacheable }

    /// Records the request, and sends its answer.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let known = state.withLock { state in
            state.runningCount += 1
            return state.answers[request.url]
        }
        let load = TestLoad(
            onEnd: { [self] isCancelled in
                state.withLock { state in
                    state.runningCount -= 1
                    if isCancelled { state.cancelledCount += 1 }
                }
            }, handler: handler)
        let answer = known?.answer ?? otherwise(request)
        if let delay = known?.delay, delay > .zero {
            load.wait(clock.timer.schedule(at: clock.timer.now + delay) { load.send(answer, to: request) })
            // From here on, the test may advance the clock.
            record(request)
        } else {
            record(request)
            load.send(answer, to: request)
        }
        return load
    }

    private func record(_ request: LoaderRequest) {
        let count = state.withLock { state in
            state.requests.append(request)
            return state.requests.count
        }
        observers.tell(count)
    }
}

/// One load.
private final class TestLoad: LoaderTask {
    private struct State {
        var hasEnded = false
        var call: ScheduledCall?
    }

    private let state = Lock(State())
    private let onEnd: @Sendable (_ isCancelled: Bool) -> Void
    private let handler: @Sendable (LoaderEvent) -> Void

    init(
        onEnd: @escaping @Sendable (_ isCancelled: Bool) -> Void, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.onEnd = onEnd
        self.handler = handler
    }

    /// Sets the call that sends the answer.
    func wait(_ call: ScheduledCall) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.call = call }
            return state.hasEnded
        }
        if hasEnded { call.cancel() }
    }

    func cancel() {
        guard let call = end(isCancelled: true) else { return }
        call.value?.cancel()
        handler(.finished(.failure(.cancelled)))
    }

    func send(_ answer: TestImageLoader.Answer, to request: LoaderRequest) {
        guard end(isCancelled: false) != nil else { return }
        do throws(WebImageError) {
            let (status, headers, body) = try answer.parts()
            let response = LoaderResponse(
                url: request.url, statusCode: status,
                headers: headers.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) },
                expectedByteCount: Int64(body.count))
            guard (200..<300).contains(status) || status == 304 || request.acceptsAnyAnswer else {
                handler(.refused(response))
                throw WebImageError.httpStatus(code: status, url: request.url)
            }
            handler(.response(response))
            if !body.isEmpty { handler(.bytes(body)) }
            handler(.finished(.success(())))
        } catch {
            handler(.finished(.failure(error)))
        }
    }

    private struct Call { let value: ScheduledCall? }

    /// Ends the load; returns `nil` if it has ended before.
    private func end(isCancelled: Bool) -> Call? {
        let call = state.withLock { state -> Call? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return Call(value: state.call.take())
        }
        if call != nil { onEnd(isCancelled) }
        return call
    }
}

extension TestImageLoader.Answer {
    /// Returns the status, the header fields and the body.
    fileprivate func parts() throws(WebImageError) -> (Int, [String: String], Data) {
        switch self {
        case .image(let image):
            return (200, ["Content-Type": image.testFormat.mimeType], try image.testFile())
        case .response(let status, let headers, let body): return (status, headers, body)
        case .failure(let error): throw error
        }
    }
}
