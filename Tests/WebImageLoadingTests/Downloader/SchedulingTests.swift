import Dispatch
import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// Limits, priorities and cancelling, as the server sees them.
@Suite(.timeLimit(.minutes(3))) struct SchedulingTests {
    @Test func reusesConnections() async throws {
        let nginx = try SharedServers.nginx.get()
        let downloader = ImageDownloader.forTests()
        let recordings = try (0..<300).map { downloader.record(try nginx.url("/small.png?reuse=\($0)")).recording }
        for recording in recordings { #expect(try await recording.body().count == 5000) }
        let entries = try await nginx.accessLog().filter { $0.path.hasPrefix("/small.png?reuse=") }
        #expect(entries.count == 300)
        #expect(Set(entries.map(\.connection)).count <= 6)
    }

    @Test func respectsTheLimitPerHost() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests()
        let recordings = try (0..<20).map { downloader.record(try faults.url("/held/limit/\($0)")).recording }
        try await faults.wait(for: .requests, path: "/held/limit", count: 6)
        #expect(downloader.loadCounts == (6, 14))
        for number in 0..<20 { try await faults.release("/held/limit/\(number)") }
        for recording in recordings { try await recording.body() }
        #expect(try await faults.statistics().peak["/held/limit"] == 6)
        #expect(downloader.loadCounts == (0, 0))
    }

    @Test func aVisibleImageStartsBeforePrefetchedOnes() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests()
        let prefetched = try (0..<10).map { number in
            downloader.record(try faults.url("/held/prefetch/\(number)"), priority: .low)
        }
        try await faults.wait(for: .requests, path: "/held/prefetch", count: 3)
        #expect(try await downloader.body(faults.url("/bytes/visible?size=9")) == FaultServer.pattern(9))
        #expect(try await faults.statistics().requests["/held/prefetch"] == 3)
        prefetched.forEach { $0.task.cancel() }
        for load in prefetched { #expect(try await load.recording.error() == .cancelled) }
    }

    @Test func aRaisedPriorityStartsEarlier() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { $0.maximumConnectionsPerHost = 1 }
        let first = downloader.record(try faults.url("/held/raise/first")).recording
        try await faults.wait(for: .requests, path: "/held/raise/first")
        let order = Countdown(2)
        let last = LockBox("")
        let loads = try ["second", "third"].map { name in
            let request = LoaderRequest(url: try faults.url("/bytes/raise/\(name)"))
            return downloader.load(request, priority: .normal) { event in
                guard case .finished = event else { return }
                last.withLock { $0 = name }
                order.signal()
            }
        }
        loads[1].setPriority(.high)
        try await faults.release("/held/raise/first")
        try await first.body()
        try await order.wait()
        #expect(last.withLock { $0 } == "second")
    }

    @Test func aCancelledQueuedLoadIsNeverSent() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { $0.maximumConnectionsPerHost = 1 }
        let running = downloader.record(try faults.url("/held/queued/running")).recording
        try await faults.wait(for: .requests, path: "/held/queued/running")
        let queued = downloader.record(try faults.url("/bytes/queued/cancelled"))
        queued.task.cancel()
        queued.task.cancel()
        #expect(try await queued.recording.error() == .cancelled)
        try await faults.release("/held/queued/running")
        try await running.body()
        #expect(queued.recording.isInOrder)
        #expect(try await faults.statistics().requests["/bytes/queued/cancelled"] == nil)
    }

    @Test func cancellingARunningLoadDropsItsConnection() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests()
        let load = downloader.record(try faults.url("/stall-body/cancel?size=10000&sent=5000"))
        try await load.recording.waitForFirstBytes()
        load.task.cancel()
        #expect(try await load.recording.error() == .cancelled)
        try await faults.wait(for: .dropped, path: "/stall-body/cancel")
        load.task.cancel()
        #expect(load.recording.isInOrder)
    }

    @Test func nginxStopsSendingToACancelledLoad() async throws {
        let nginx = try SharedServers.nginx.get()
        let downloader = ImageDownloader.forTests()
        let load = downloader.record(try nginx.url("/slow/large.png?cancel"))
        try await load.recording.waitForFirstBytes()
        load.task.cancel()
        #expect(try await load.recording.error() == .cancelled)
        #expect(try await nginx.waitForEntry(path: "/slow/large.png?cancel").byteCount < 2_000_000)
    }

    @Test func aStormOfCancelsEndsEachLoadExactlyOnce() async throws {
        let nginx = try SharedServers.nginx.get()
        let downloader = ImageDownloader.forTests()
        let expected = FaultServer.pattern(5000)
        var random = SplitMix64(seed: 1)
        var loads: [(recording: LoadRecording, task: any LoaderTask)] = []
        for number in 0..<2000 {
            let load = downloader.record(try nginx.url("/small.png?storm=\(number)"))
            loads.append(load)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: load.task.cancel()
            case 1: loads.randomElement(using: &random)?.task.cancel()
            case 2: load.task.setPriority(.high)
            default: break
            }
        }
        for load in loads {
            if let error = try await load.recording.error() {
                #expect(error == .cancelled)
            } else {
                #expect(try await load.recording.body() == expected)
            }
        }
        #expect(loads.allSatisfy { $0.recording.isInOrder })
        #expect(downloader.loadCounts == (0, 0))
    }

    @Test func aReleasedDownloaderFinishesItsLoadsAndEndsItsThread() async throws {
        let faults = try SharedServers.faults.get()
        let thread = LockBox("")
        let ended = Countdown()
        var downloader: ImageDownloader? = ImageDownloader.forTests()
        let request = LoaderRequest(url: try faults.url("/held/let-go"))
        let task = downloader?.load(request, priority: .normal) { event in
            if case .response = event {
                let name = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
                thread.withLock { $0 = "/proc/" + (name ?? "") }
            }
            if case .finished(.success) = event { ended.signal() }
        }
        try await faults.wait(for: .requests, path: "/held/let-go")
        downloader = nil
        try await faults.release("/held/let-go")
        try await ended.wait()
        let path = thread.withLock { $0 }
        #expect(path.contains("/task/"))
        let deadline = ContinuousClock.now + .seconds(20)
        while FileManager.default.fileExists(atPath: path), ContinuousClock.now < deadline { await Task.yield() }
        #expect(!FileManager.default.fileExists(atPath: path))
        task?.cancel()
    }

    @Test(arguments: [
        (false, Array(1...14)),
        (true, [1, 7, 14, 13, 12, 11, 10, 9, 8, 6, 5, 4, 3, 2]),
    ])
    func startsInTheOrderAskedFor(isLastInFirstOut: Bool, expected: [Int]) async throws {
        let nginx = try NGINXServer()
        try nginx.write(Data([1]), to: "file")
        let downloader = ImageDownloader.forTests {
            $0.maximumConnectionsPerHost = 1
            $0.isLastInFirstOut = isLastInFirstOut
        }
        // Held on the network thread, so that what comes meanwhile is there before it ends.
        let ended = Countdown(14)
        @Sendable func load(_ numbers: ClosedRange<Int>, urls: [URL]) {
            for number in numbers {
                _ = downloader.load(LoaderRequest(url: urls[number - 1]), priority: .normal) { event in
                    if case .response = event {
                        if number == 1 { load(2...7, urls: urls) }
                        if number == 7 { load(8...14, urls: urls) }
                    }
                    if case .finished = event { ended.signal() }
                }
            }
        }
        load(1...1, urls: try (1...14).map { try nginx.url("/file?\($0)") })
        try await ended.wait()
        #expect(try await nginx.accessLog().map(\.path) == expected.map { "/file?\($0)" })
    }

    /// Each load is of another host, with one connection in all.
    @Test(arguments: [(false, [1, 2, 3, 4, 5]), (true, [1, 5, 4, 3, 2])])
    func startsInTheOrderAskedForBetweenOrigins(isLastInFirstOut: Bool, expected: [Int]) async throws {
        let nginx = try NGINXServer()
        try nginx.write(Data([1]), to: "file")
        let downloader = ImageDownloader.forTests {
            $0.maximumConnections = 1
            $0.isLastInFirstOut = isLastInFirstOut
            $0.hostAddresses = Dictionary(uniqueKeysWithValues: (1...5).map { ("host\($0).test", ["127.0.0.1"]) })
        }
        let urls = try (1...5).map { number in
            try #require(URL(string: "http://host\(number).test:\(nginx.port)/file?\(number)"))
        }
        let ended = Countdown(5)
        @Sendable func load(_ numbers: ClosedRange<Int>) {
            for number in numbers {
                _ = downloader.load(LoaderRequest(url: urls[number - 1]), priority: .normal) { event in
                    // On the network thread, so that the others are there before the first ends.
                    if case .response = event, number == 1 { load(2...5) }
                    if case .finished = event { ended.signal() }
                }
            }
        }
        load(1...1)
        try await ended.wait()
        #expect(try await nginx.accessLog().map(\.path) == expected.map { "/file?\($0)" })
    }

    @Test func suspendingStartsNothingAndLetsRunningLoadsFinish() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests()
        let to = try faults.otherOriginURL("/held/suspended/hop")
        let running = downloader.record(try faults.url("/redirect/suspended?to=\(to)")).recording
        try await faults.wait(for: .requests, path: "/held/suspended/hop")
        downloader.isSuspended = true
        let waiting = downloader.record(try faults.url("/bytes/suspended/new?size=3")).recording
        try await faults.release("/held/suspended/hop")
        try await running.body()
        #expect(downloader.isSuspended)
        #expect(downloader.loadCounts == (0, 1))
        #expect(downloader.currentDownloadCount == 1)
        #expect(try await faults.statistics().requests["/bytes/suspended/new"] == nil)
        downloader.isSuspended = false
        #expect(try await waiting.body().count == 3)
    }

    @Test func cancelsAllRunningAndQueuedLoads() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { $0.maximumConnectionsPerHost = 2 }
        let recordings = try (0..<5).map { downloader.record(try faults.url("/held/cancel-all/\($0)")).recording }
        try await faults.wait(for: .requests, path: "/held/cancel-all", count: 2)
        #expect(downloader.currentDownloadCount == 5)
        downloader.cancelAll()
        for recording in recordings {
            #expect(try await recording.error() == .cancelled)
            #expect(recording.isInOrder)
        }
        #expect(downloader.currentDownloadCount == 0)
        try await faults.wait(for: .dropped, path: "/held/cancel-all", count: 2)
    }

    @Test func aRequestCanHaveItsOwnIdleTimeLimit() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests()
        var request = LoaderRequest(url: try faults.url("/stall-headers/own-limit"))
        request.idleTimeout = .milliseconds(200)
        let recording = LoadRecording()
        _ = downloader.load(request, priority: .normal) { recording.receive($0) }
        #expect(try await recording.error() == .timedOut(after: .milliseconds(200), url: request.url))
    }

    @Test func aLoadFailsWithoutAThreadAndTheNextTriesAgain() async throws {
        let hasThreads = LockBox(false)
        let transport = CurlTransport(.init(connectTimeout: .seconds(15))) { name, body in
            hasThreads.withLock { $0 } && PlatformThread.start(name: name, body)
        }
        let downloader = ImageDownloader(configuration: .init(), transport: transport)
        let url = try SharedServers.nginx.get().url("/small.png?threads")
        let secret = url.absoluteString.replacing("://", with: "://user:secret@")
        let load = downloader.record(try #require(URL(string: secret)))
        load.task.cancel()
        #expect(try await load.recording.error() == .outOfResources(reason: .thread, url: url), "without the password")
        #expect(load.recording.isInOrder)
        #expect(downloader.currentDownloadCount == 0)
        hasThreads.withLock { $0 = true }
        #expect(try await downloader.body(url).count == 5000)
    }

    /// The second call comes during the first, and must not rely on it.
    @Test func twoLoadsWithoutAThreadBothFail() throws {
        let (isTrying, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let transport = CurlTransport(.init(connectTimeout: .seconds(15))) { _, _ in
            isTrying.signal()
            // It ends here only where it did not wait for this.
            _ = second.wait(timeout: .now() + .milliseconds(100))
            return false
        }
        let answers = LockBox<[Bool]>([])
        let firstEnd = DispatchSemaphore(value: 0)
        #expect(
            PlatformThread.start(name: "first") {
                let isReady = transport.prepare()
                answers.withLock { $0.append(isReady) }
                firstEnd.signal()
            })
        isTrying.wait()
        let isReady = transport.prepare()
        second.signal()
        firstEnd.wait()
        #expect(!isReady && answers.withLock { $0 } == [false])
    }
}
