import FoundationEssentials
import Glibc
import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// Cancelling, pausing and priorities at any time of a load.
@Suite(.timeLimit(.minutes(1))) struct ResumingTaskTests {
    private static let body = FaultServer.pattern(1_200_000)
    private static let stored = 1_000_000

    /// Keeps the threads of a queue busy until it is opened.
    private func block(_ queue: WorkQueue) -> ThreadGate {
        let gate = ThreadGate()
        for _ in 0..<queue.threadCount { queue.submit(priority: .veryHigh) { gate.wait() } }
        return gate
    }

    private func interrupted() async throws -> ResumeFixture {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: Self.stored)
        await fixture.settle()
        return fixture
    }

    /// A load whose answer goes on, paused by its owner before its response.
    private func replaying() async throws -> (
        fixture: ResumeFixture, recording: LoadRecording, task: any LoaderTask, transfer: ScriptedTransfer
    ) {
        let fixture = try await interrupted()
        let (recording, task, transfer) = try await fixture.load()
        task.pause()
        let headers = ["ETag": ResumeFixture.tag, "Content-Range": "bytes 1000000-1199999/1200000"]
        #expect(try await transfer.call() == .pause)
        transfer.resume()
        #expect(try await transfer.call() == .resume)
        transfer.respond(206, headers, byteCount: 200_000)
        try await recording.waitForResponse()
        return (fixture, recording, task, transfer)
    }

    @Test func cancellingDuringTheLookupEndsTheLoad() async throws {
        let fixture = try await interrupted()
        let gate = block(PartialBodyStore.queue)
        let (recording, task) = fixture.loader.record(try ResumeFixture.url())
        task.cancel()
        task.cancel()
        gate.open()
        #expect(try await recording.error() == .cancelled)
        #expect(fixture.origin.requests.count == 1)
        #expect(try await fixture.requestedRange() == "bytes=1000000-", "the bytes are still there")
    }

    @Test func callsDuringTheLookupApplyToTheLoad() async throws {
        let fixture = try await interrupted()
        let gate = block(PartialBodyStore.queue)
        let (recording, task) = fixture.loader.record(try ResumeFixture.url())
        task.setPriority(.high)
        task.pause()
        gate.open()
        let transfer = try await fixture.origin.next()
        #expect(transfer.priority == .high)
        #expect(try await transfer.call() == .pause)
        task.setPriority(.low)
        #expect(try await transfer.call() == .priority(.low))
        task.resume()
        #expect(try await transfer.call() == .resume)
        transfer.continueBody(Self.body, from: Self.stored)
        #expect(try await recording.body() == Self.body)
    }

    @Test func aPausedLoadGetsTheStoredBytesAndTheRestOnceItIsResumed() async throws {
        let (_, recording, task, transfer) = try await replaying()
        transfer.pause()
        transfer.send(Self.body[Self.stored...])
        transfer.finish()
        try await recording.waitForFirstBytes()
        #expect(recording.bytes == Self.body.prefix(Self.stored))
        task.setPriority(.veryHigh)
        task.resume()
        #expect(try await recording.body() == Self.body)
        #expect(recording.isInOrder)
        #expect(transfer.priority == .veryHigh)
    }

    @Test func aPauseAtTheStoredBytesHoldsTheRest() async throws {
        let fixture = try await interrupted()
        let recording = LoadRecording()
        let task = LockBox<(any LoaderTask)?>(nil)
        let started = fixture.loader.load(LoaderRequest(url: try ResumeFixture.url()), priority: .normal) { event in
            recording.receive(event)
            guard case .bytes = event, recording.byteCount == Self.stored else { return }
            task.withLock { $0 }?.pause()
        }
        task.withLock { $0 = started }
        let transfer = try await fixture.origin.next()
        let headers = ["ETag": ResumeFixture.tag, "Content-Range": "bytes 1000000-1199999/1200000"]
        transfer.respond(206, headers, byteCount: 200_000)
        #expect(try await transfer.call() == .pause)
        transfer.send(Self.body[Self.stored...])
        transfer.finish()
        #expect(recording.byteCount == Self.stored)
        started.resume()
        #expect(try await recording.body() == Self.body)
        #expect(recording.isInOrder)
    }

    /// Longer bodies than those that are kept in memory.
    @Test func aLongBeginningIsDeliveredFromATemporaryFile() async throws {
        let fixture = try ResumeFixture()
        let body = (0..<9).reduce(into: Data()) { body, _ in body += FaultServer.pattern(1_000_000) }
        try await fixture.interrupt(body, after: 8_500_000)
        let (recording, _, transfer) = try await fixture.load()
        #expect(transfer.range == "bytes=8500000-")
        transfer.continueBody(body, from: 8_500_000)
        #expect(try await recording.body() == body)
    }

    @Test(arguments: [true, false]) func cancellingWhileStoredBytesAreDeliveredEndsTheLoad(isPaused: Bool) async throws
    {
        let (fixture, recording, task, _) = try await replaying()
        if !isPaused { task.resume() }
        task.cancel()
        #expect(try await recording.error() == .cancelled)
        #expect(recording.isInOrder)
        #expect(recording.byteCount <= Self.stored)
        #expect(try await fixture.requestedRange() == "bytes=1000000-")
    }

    @Test func anInterruptionDuringStoredBytesIsReportedAfterThem() async throws {
        let (fixture, recording, task, transfer) = try await replaying()
        transfer.resume()
        transfer.send(Self.body[Self.stored..<Self.stored + 1000])
        transfer.cut()
        task.resume()
        guard case .transport? = try await recording.error() else {
            Issue.record("another error")
            return
        }
        #expect(recording.isInOrder)
        #expect(recording.byteCount == Self.stored + 1000)
        #expect(try await fixture.requestedRange() == "bytes=1001000-")
    }

    @Test func cancellingBetweenTwoAttemptsEndsTheLoad() async throws {
        let fixture = try await interrupted()
        let (recording, task, transfer) = try await fixture.load()
        let gate = block(PartialBodyStore.queue)
        transfer.respond(416)
        #expect(try await transfer.call() == .cancel)
        task.cancel()
        gate.open()
        #expect(try await recording.error() == .cancelled)
        #expect(recording.isInOrder)
        #expect(fixture.origin.requests.count == 2)
    }

    @Test(arguments: [true, false]) func storedBytesChangedOnDiskAreNotDelivered(isComplete: Bool) async throws {
        let fixture = try await interrupted()
        let (recording, _, transfer) = try await fixture.load()
        let url = URL(filePath: fixture.path(try #require(fixture.files.first)))
        var changed = try Data(contentsOf: url)
        changed[changed.count / 2] ^= 1
        let descriptor = open(url.path, O_WRONLY)
        _ = changed.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        close(descriptor)
        if isComplete {
            transfer.continueBody(Self.body, from: Self.stored)
            #expect(try await recording.body() == Self.body)
            return
        }
        // The next load does not get them, either.
        transfer.cut()
        #expect(try await recording.error() != nil)
        let (second, _, next) = try await fixture.load()
        let offset = try #require(next.offset)
        #expect(offset < changed.count / 2)
        next.continueBody(Self.body, from: offset)
        #expect(try await second.body() == Self.body)
    }

    // MARK: Anything at all

    /// What a server makes of a request, and how far it gets; with bytes of its own for each version.
    private static func answer(
        _ transfer: ScriptedTransfer, version: Int, bodies: [Data], random: inout SplitMix64
    ) {
        let body = bodies[version]
        let tag = "\"v\(version)\""
        let offset = transfer.offset
        let matches = transfer.ifRange == tag
        let cutsOff = Int.random(in: 0..<3, using: &random) > 0
        func send(_ bytes: Data) {
            let end = cutsOff ? Int.random(in: 0...bytes.count, using: &random) : bytes.count
            var start = 0
            while start < end {
                let next = min(end, start + Int.random(in: 1...60_000, using: &random))
                transfer.send(Data(bytes[bytes.startIndex + start..<bytes.startIndex + next]))
                start = next
            }
            if !cutsOff {
                transfer.finish()
            } else if Bool.random(using: &random) {
                transfer.cut()
            } else {
                transfer.finish(.failure(.timedOut(after: .seconds(1), url: transfer.request.url)))
            }
        }
        func whole() {
            let announced = Bool.random(using: &random) ? Int64(body.count) : nil
            transfer.respond(200, ["ETag": tag], byteCount: announced)
            send(body)
        }
        guard let offset, Int.random(in: 0..<5, using: &random) > 0 else { return whole() }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: transfer.respond(416)
        case 1: transfer.finish(.failure(.httpStatus(code: 416, url: transfer.request.url)))
        case 2: transfer.finish(.failure(.httpStatus(code: 503, url: transfer.request.url)))
        case 3:
            transfer.respond(
                206, ["ETag": tag, "Content-Range": "bytes \(offset + 1)-\(body.count - 1)/\(body.count)"])
            send(body[min(offset + 1, body.count)...])
        case 4:
            transfer.respond(206, ["Content-Range": "bytes \(offset)-\(body.count - 1)/\(body.count)"])
            send(body[min(offset, body.count)...])
        case 5:
            transfer.respond(206, ["ETag": tag, "Content-Range": "bytes \(offset)-\(body.count)/\(body.count + 1)"])
            send(body[min(offset, body.count)...])
        case 6 where !matches:
            // A server that knows no If-Range.
            transfer.respond(206, ["ETag": tag, "Content-Range": "bytes \(offset)-\(body.count - 1)/\(body.count)"])
            send(body[min(offset, body.count)...])
        default:
            guard matches, offset < body.count else { return whole() }
            transfer.respond(
                206, ["ETag": tag, "Content-Range": "bytes \(offset)-\(body.count - 1)/\(body.count)"],
                byteCount: Bool.random(using: &random) ? Int64(body.count - offset) : nil)
            send(body[offset...])
        }
    }

    /// The server of the next test: which version it has, and its moods.
    private struct Server: Sendable {
        var random: SplitMix64
        var version = 0
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func everyBodyIsExactlyOneTheServerHas(seed: UInt64) async throws {
        let bodies = (0..<3).map { version in
            var random = SplitMix64(seed: seed * 100 + UInt64(version))
            return Data(random.bytes(count: 400_000 + version * 1000))
        }
        let server = LockBox(Server(random: SplitMix64(seed: seed)))
        let fixture = try ResumeFixture(script: { transfer in
            server.withLock { server in
                if Int.random(in: 0..<8, using: &server.random) == 0 {
                    server.version = (server.version + 1) % bodies.count
                }
                Self.answer(transfer, version: server.version, bodies: bodies, random: &server.random)
            }
        })
        var successCount = 0
        var resumedCount = 0
        for _ in 0..<60 {
            let requestCount = fixture.origin.requests.count
            let (recording, task) = fixture.loader.record(try ResumeFixture.url())
            if server.withLock({ Int.random(in: 0..<10, using: &$0.random) }) == 0 { task.cancel() }
            let error = try await recording.error()
            let requests = fixture.origin.requests.dropFirst(requestCount)
            #expect(recording.isInOrder)
            #expect(requests.count <= 2)
            #expect(requests.count < 2 || requests.last?.headers["Range"] == nil)
            if error == nil {
                successCount += 1
                if requests.first?.headers["Range"] != nil { resumedCount += 1 }
                #expect(bodies.contains(recording.bytes), "\(recording.bytes.count) bytes that the server never had")
            } else {
                #expect(bodies.contains { $0.starts(with: recording.bytes) }, "no beginning of any body")
            }
        }
        #expect(successCount > 0 && resumedCount > 0, "\(successCount) of 60 loads, \(resumedCount) after a range")
    }
}
