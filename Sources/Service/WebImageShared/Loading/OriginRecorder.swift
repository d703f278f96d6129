internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading

/// Collects the origin's response.
final class OriginRecorder: Sendable {
    private struct State {
        var head: LoaderResponse?
        var isRefused = false
        var responseTime = Date()
        var address: String?
        var body: Data? = Data()
    }

    let requestTime = Date()
    private let limit: Int
    private let state = Lock(State())

    init(limit: Int) { self.limit = limit }

    var head: LoaderResponse? { state.withLock { $0.head } }
    var isRefused: Bool { state.withLock { $0.isRefused } }
    var responseTime: Date { state.withLock { $0.responseTime } }
    /// The address of the server or a proxy; `nil` if it is unknown.
    var address: String? { state.withLock { $0.address } }
    /// `nil` if it is too long.
    var body: Data? { state.withLock { $0.body } }

    /// Starts again after an attempt that failed.
    func begin(_ response: LoaderResponse) {
        state.withLock { state in state = State(head: response) }
    }

    func refuse() { state.withLock { $0.isRefused = true } }

    func note(_ metrics: LoaderMetrics) {
        let address = metrics.exchanges.last?.remoteAddress
        state.withLock { $0.address = address }
    }

    func append(_ bytes: Data) {
        state.withLock { state in
            guard let count = state.body?.count, count + bytes.count <= limit else { return state.body = nil }
            state.body?.append(bytes)
        }
    }
}
