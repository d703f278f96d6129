import Dispatch
package import FoundationEssentials
import Glibc
import Synchronization

/// A program that fetches the whole workload, a number of files at a time, and reports what that cost.
///
///     program BASE-URL CONNECTIONS FILES
///
/// The next file is asked for when one is there. A few files are fetched for connections and caches to be there; then
/// the workload is measured, each body checked in passing; then it is fetched again, and every byte compared.
package struct TransportClient: Sendable {
    /// Fetches a URL and calls back with its body, or with why there is none.
    package typealias Fetch = @Sendable (URL, @escaping @Sendable (Result<Data, any Error>) -> Void) -> Void

    package let baseURL: String
    package let connectionCount: Int
    package let workload: Workload

    package init?(_ arguments: some Collection<String>) {
        let arguments = Array(arguments)
        guard arguments.count == 3, let connectionCount = Int(arguments[1]), let count = Int(arguments[2]) else {
            return nil
        }
        baseURL = arguments[0]
        self.connectionCount = connectionCount
        workload = Workload(count: count)
    }

    /// Fetches, prints a ``ClientReport`` and ends the process: 0 if every byte was right.
    package func run(_ fetch: @escaping Fetch) -> Never {
        let warmUp = self.fetch(Workload(count: 100), with: fetch) { workload.isLike($0, file: $1) }
        let start = ResourceUsage.current
        let wrongCount = warmUp + self.fetch(workload, with: fetch) { workload.isLike($0, file: $1) }
        let report = ClientReport(usage: ResourceUsage.current - start, peakByteCount: ResourceUsage.peakByteCount)
        guard wrongCount == 0, self.fetch(workload, with: fetch, { $0 == workload.content(of: $1) }) == 0 else {
            exit(1)
        }
        print(report.line)
        exit(0)
    }

    /// How many bodies are not as they should be.
    private func fetch(
        _ workload: Workload, with fetch: @escaping Fetch, _ isRight: @escaping @Sendable (Data, Int) -> Bool
    ) -> Int {
        let state = FetchState(workload: workload, baseURL: baseURL, fetch: fetch, isRight: isRight)
        for _ in 0..<min(connectionCount, workload.count) { state.fetchNext() }
        state.ended.wait()
        return state.wrongCount.load(ordering: .relaxed)
    }
}

private final class FetchState: Sendable {
    let ended = DispatchSemaphore(value: 0)
    let wrongCount = Atomic(0)
    private let nextFile = Atomic(0)
    private let endedCount = Atomic(0)
    private let workload: Workload
    private let baseURL: String
    private let fetch: TransportClient.Fetch
    private let isRight: @Sendable (Data, Int) -> Bool

    init(
        workload: Workload, baseURL: String, fetch: @escaping TransportClient.Fetch,
        isRight: @escaping @Sendable (Data, Int) -> Bool
    ) {
        self.workload = workload
        self.baseURL = baseURL
        self.fetch = fetch
        self.isRight = isRight
    }

    func fetchNext() {
        let file = nextFile.wrappingAdd(1, ordering: .relaxed).oldValue
        guard file < workload.count else { return }
        guard let url = URL(string: baseURL + workload.path(of: file)) else { return end(isRight: false) }
        fetch(url) { [self] result in
            guard case .success(let data) = result else {
                print("\(url): \(result)")
                return end(isRight: false)
            }
            end(isRight: isRight(data, file))
        }
    }

    private func end(isRight: Bool) {
        if !isRight { wrongCount.wrappingAdd(1, ordering: .relaxed) }
        if endedCount.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue == workload.count {
            ended.signal()
        } else {
            fetchNext()
        }
    }
}
