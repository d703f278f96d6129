import FoundationEssentials
import WebImageTestSupport

@testable import WebImage
@testable import WebImageCore

/// A manager whose loads are answered, whose time passes, and whose network comes and goes as the test says; nothing is
/// left to chance: waits are as long as they can be.
struct AttemptFixture {
    let clock = ManualTimerClock()
    let network = ScriptedConnectivity(isConnected: true)
    let manager: ManagerFixture
    let results = Results()
    let url: URL

    /// - Parameter isCacheable: without a disk to look at first, all that happens does so inside the calls of the test.
    init(policy: RetryPolicy = RetryPolicy(maximumAttempts: 4), isCacheable: Bool = true) throws {
        let (clock, network) = (clock, network)
        url = try ManagerFixture.url("a")
        manager = try ManagerFixture(isCacheable: isCacheable) { configuration in
            configuration.optionsProcessor = { [policy] in $0.retryPolicy = $0.retryPolicy ?? policy }
            configuration.environment.clock = clock
            configuration.environment.random = { 1 }
            configuration.connectivity = network
        }
    }

    var loadCount: Int { manager.loader.loadCount }

    /// Begins a load of ``url``.
    @discardableResult
    func start(
        _ change: (inout WebImageRequest) -> Void = { _ in },
        progress: (@Sendable (Int64, Int64?) -> Void)? = nil
    ) -> WebImageOperation {
        var request = WebImageRequest(url)
        change(&request)
        return manager.manager.load(
            request, callbackQueue: DirectCallbackQueue(), progress: progress, completion: results.note)
    }

    func nextLoad() async throws -> ScriptedLoad { try await manager.nextLoad() }

    func reset(_ url: URL? = nil) -> WebImageError {
        .transport(code: 56, message: "reset", url: url ?? self.url)
    }

    /// The first result; the suite's time limit is the safety net.
    func result() async -> Result<WebImageResponse, WebImageError> { await results.wait(for: 1)[0] }

    /// The first error; `nil` after a success.
    func error() async -> WebImageError? {
        if case .failure(let error) = await result() { return error }
        return nil
    }
}
