import FoundationEssentials
import Glibc
import Testing
import WebImageCore
@testable import WebImageLoading
import WebImageTestSupport

/// Very many requests, one in five of them cancelled at some moment. `make stress` sets `WEBIMAGE_STRESS_REQUESTS` to
/// 100,000.
@Suite(.timeLimit(.minutes(10))) struct StressTests {
    private static let requestCount =
        getenv("WEBIMAGE_STRESS_REQUESTS").flatMap { Int(String(cString: $0)) }
        ?? ReleaseChecks.choose(2_000, forRelease: 5_000)
    private static let seed: UInt64 = 20_261_120

    @Test func everyRequestEndsOnceWithTheRightBytesAndNothingLeaks() async throws {
        let files = StressFiles(count: 200)
        let directory = try TemporaryDirectory()
        for (name, content) in files.contents.enumerated() { try directory.write(content, to: "\(name)") }
        let server = try NGINXServer(
            root: directory.path, certificates: [.valid], locations: "location / { access_log off; }")
        let authority = try TestCertificates.shared.get().authority
        let downloader = ImageDownloader.forTests { configuration in
            configuration.maximumConnectionsPerHost = 16
            configuration.certificateAuthorities = .file(authority)
        }
        // HTTP/1.1, where a cancel costs a connection, and HTTP/2, where it does not.
        let baseURLs = [try server.url("").absoluteString, try server.secureURL("").absoluteString]

        let start = ContinuousClock.now
        var random = SplitMix64(seed: Self.seed)
        var tally = StressTally()
        var footprints: [Footprint] = [.current]
        let (roundCount, roundSize) = (10, Self.requestCount / 10)
        for _ in 0..<roundCount {
            let round = StressRound(count: roundSize, files: files, downloader: downloader)
            let seed = random.next()
            let isStarted = PlatformThread.start(name: "stress") { round.run(baseURLs: baseURLs, seed: seed) }
            try #require(isStarted)
            try await round.ended.wait(atMost: .seconds(300))
            tally.add(round.tally)
            footprints.append(.current)
        }
        let time = ContinuousClock.now - start
        print("\(roundCount * roundSize) requests in \(time): \(tally); \(footprints.map(\.description))")

        #expect(tally.wrongCount == 0)
        #expect(tally.endedTwiceCount == 0)
        #expect(tally.succeededCount + tally.cancelledCount == roundCount * roundSize)
        #expect(tally.succeededCount > roundCount * roundSize / 2)
        #expect(tally.cancelledCount > roundCount * roundSize / 10)
        #expect(downloader.loadCounts == (0, 0))
        // The pool keeps 64 connections; the thread itself has a few descriptors.
        let descriptorLimit = footprints[0].descriptorCount + 64 + 8
        #expect(footprints.allSatisfy { $0.descriptorCount <= descriptorLimit })
        // After two rounds pools and the allocator have what they need.
        #expect(footprints[roundCount].residentByteCount - footprints[2].residentByteCount < 16 << 20)
    }
}

/// The server's files: from half a kilobyte to 30, each with different content.
private struct StressFiles: Sendable {
    let contents: [Data]

    init(count: Int) {
        contents = (0..<count).map { file in
            let pattern = FaultServer.pattern(500 + file * 150)
            return Data("\(file)".utf8) + pattern
        }
    }
}

private struct StressTally: CustomStringConvertible {
    var succeededCount = 0
    var cancelledCount = 0
    /// Wrong bytes, an unexpected error, or a cancel that was not requested.
    var wrongCount = 0
    var endedTwiceCount = 0

    mutating func add(_ other: StressTally) {
        succeededCount += other.succeededCount
        cancelledCount += other.cancelledCount
        wrongCount += other.wrongCount
        endedTwiceCount += other.endedTwiceCount
    }

    var description: String {
        "\(succeededCount) complete, \(cancelledCount) cancelled, \(wrongCount) wrong, \(endedTwiceCount) ended twice"
    }
}

private struct Footprint: CustomStringConvertible {
    var residentByteCount: Int
    var descriptorCount: Int

    static var current: Footprint {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
            .dropFirst().first.flatMap { Int($0) }
        let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return Footprint(residentByteCount: (pages ?? 0) * Int(getpagesize()), descriptorCount: descriptors?.count ?? 0)
    }

    var description: String { "\(residentByteCount >> 20) MiB, \(descriptorCount) fds" }
}

/// A number of requests, of which as many run at once as the window allows.
private final class StressRound: Sendable {
    /// When a request is cancelled.
    private enum Fate: Sendable {
        case completes, cancelledAtOnce, cancelledByItsResponse, cancelledLater
    }

    private struct Request {
        var endCount = 0
        var isCancelled = false
        var body = Data()
        var task: (any LoaderTask)?
    }

    private struct State {
        var requests: [Request]
        var tally = StressTally()
    }

    let ended = Countdown()
    private let count: Int
    private let files: StressFiles
    private let downloader: ImageDownloader
    private let state: LockBox<State>
    private let remaining: LockBox<Int>
    private let window = Permits(256)

    init(count: Int, files: StressFiles, downloader: ImageDownloader) {
        self.count = count
        self.files = files
        self.downloader = downloader
        state = LockBox(State(requests: Array(repeating: Request(), count: count)))
        remaining = LockBox(count)
    }

    var tally: StressTally { state.withLock { $0.tally } }

    /// Starts all requests, blocking while the window is full.
    func run(baseURLs: [String], seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var later: [Int] = []
        for index in 0..<count {
            window.take()
            let file = Int.random(in: 0..<files.contents.count, using: &random)
            // Half of them can share a transfer with others, half cannot.
            let query = Bool.random(using: &random) ? "?\(index)" : ""
            let baseURL = baseURLs[index % baseURLs.count]
            guard let url = URL(string: "\(baseURL)/\(file)\(query)") else { continue }
            let fate = Self.fate(using: &random)
            let priority = LoadPriority.allCases.randomElement(using: &random) ?? .normal
            let task = downloader.load(LoaderRequest(url: url), priority: priority) { [self] event in
                receive(event, index: index, file: file, fate: fate)
            }
            state.withLock { state in
                if state.requests[index].endCount == 0 { state.requests[index].task = task }
            }
            switch fate {
            case .cancelledAtOnce: cancel(index)
            case .cancelledLater: later.append(index)
            case .completes, .cancelledByItsResponse: break
            }
            if later.count > 20, let chosen = later.indices.randomElement(using: &random) {
                cancel(later.remove(at: chosen))
            }
            if Int.random(in: 0..<8, using: &random) == 0 { task.setPriority(.high) }
        }
        later.forEach(cancel)
    }

    private static func fate(using random: inout SplitMix64) -> Fate {
        switch Int.random(in: 0..<9, using: &random) {
        case 0: .cancelledAtOnce
        case 1: .cancelledByItsResponse
        case 2: .cancelledLater
        default: .completes
        }
    }

    private func cancel(_ index: Int) {
        let task = state.withLock { state in
            state.requests[index].isCancelled = true
            return state.requests[index].task
        }
        task?.cancel()
    }

    private func receive(_ event: LoaderEvent, index: Int, file: Int, fate: Fate) {
        switch event {
        case .response: if fate == .cancelledByItsResponse { cancel(index) }
        case .bytes(let bytes): state.withLock { $0.requests[index].body.append(bytes) }
        case .report, .refused: break
        case .finished(let result): finish(index, file: file, result)
        }
    }

    private func finish(_ index: Int, file: Int, _ result: Result<Void, WebImageError>) {
        let isFirst = state.withLock { state in
            let request = state.requests[index]
            state.requests[index].endCount += 1
            state.requests[index].task = nil
            state.requests[index].body = Data()
            guard request.endCount == 0 else {
                state.tally.endedTwiceCount += 1
                return false
            }
            switch result {
            case .success where request.body == files.contents[file]: state.tally.succeededCount += 1
            case .failure(.cancelled) where request.isCancelled: state.tally.cancelledCount += 1
            default: state.tally.wrongCount += 1
            }
            return true
        }
        guard isFirst else { return }
        window.give()
        let isLast = remaining.withLock { remaining in
            remaining -= 1
            return remaining == 0
        }
        if isLast { ended.signal() }
    }
}

/// A counting semaphore for a thread that may block.
private final class Permits: @unchecked Sendable {
    // `@unchecked`: a POSIX semaphore is for any thread.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init(_ count: UInt32) { sem_init(semaphore, 0, count) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func take() { while sem_wait(semaphore) != 0 && errno == EINTR {} }

    func give() { sem_post(semaphore) }
}
