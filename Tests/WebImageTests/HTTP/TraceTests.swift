import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// The trace of a load.
@Suite(.timeLimit(.minutes(1))) struct TraceTests {
    private let fixture: ManagerFixture
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture()
        request = WebImageRequest(try ManagerFixture.url("a"), cachePolicy: .http)
    }

    private func load(_ answer: (ScriptedLoad) throws -> Void) async throws -> LoadTrace {
        async let response = fixture.manager.response(for: request)
        try answer(await fixture.nextLoad())
        return try await response.trace
    }

    @Test func listsEveryStageInOrder() async throws {
        let trace = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nETag: \"1\"") }
        #expect(trace.entries.map(\.stage) == [.disk, .policy, .transfer, .decode, .store])
        #expect(trace.entries[1].message == "http: loading: nothing is stored")
        #expect(trace.entries.allSatisfy { $0.duration >= .zero })
        #expect(zip(trace.entries, trace.entries.dropFirst()).allSatisfy { $0.start <= $1.start })
    }

    @Test func explainsTheCacheDecisionAndTheServerRequest() async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nETag: \"1\"") }
        fixture.time.advance(seconds: 100)
        let trace = try await load { $0.confirm() }
        let messages = trace.entries.map(\.message)
        #expect(messages.contains("http: revalidating: stale: 100 s old, was good for 60 s (max-age)"))
        #expect(messages.contains { $0.hasPrefix("sent If-None-Match: \"1\"; status 304") })
        #expect(messages.contains("the server confirmed that the stored response is current"))
        fixture.cache.memory.removeAll()
        let stored = try await fixture.manager.response(for: request).trace
        #expect(stored.entries.contains { $0.message.hasPrefix("http: served from the cache: fresh: 0 s old") })
    }

    @Test func aReloadDoesNotLookForTheDisk() async throws {
        let reload = request.with { $0.cachePolicy = .reload }
        let trace = try await fixture.load(reload, answeringWith: SolidPicture(1)).trace
        #expect(trace.entries.first?.stage == .policy && !trace.entries.contains { $0.stage == .disk })
    }

    @Test func explainsWhyAResponseWasNotStored() async throws {
        let trace = try await load { try $0.answer(SolidPicture(1), "Cache-Control: no-store") }
        #expect(
            trace.entries.contains {
                $0.stage == .store && $0.message == "not stored on disk: the server forbids it (no-store)"
            })
    }

    @Test func existsAfterAFailureToo() async throws {
        let results = Results()
        let operation = fixture.manager.load(request, completion: results.note)
        try await fixture.nextLoad().refuse(404)
        _ = await results.wait(for: 1)
        #expect(operation.trace.entries.map(\.stage).contains(.transfer))
    }

    @Test func aReaderHasTheTraceOfAnOperation() async throws {
        let results = Results()
        let operation = fixture.manager.load(request, completion: results.note)
        try await fixture.nextLoad().answer(SolidPicture(1), "")
        _ = await results.wait(for: 1)
        let reader = operation.traceReader
        #expect(reader.trace.entries.map(\.stage).contains(.transfer))
        #expect(reader.transfers.allSatisfy { $0.duration >= .zero })
        #expect(reader.duration(of: .retry) == .zero)
    }

    @Test func aMemoryHitHasOneEntry() async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        let trace = try await fixture.manager.response(for: request).trace
        #expect(trace.entries.map(\.stage) == [.memory])
    }

    @Test func entriesHaveBytesAndOrigin() async throws {
        let file = try SolidPicture(1).png().count
        let trace = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        let transfer = try #require(trace.entries.first { $0.stage == .transfer })
        #expect(transfer.origin == .remote && transfer.byteCount == file && !transfer.hasFailed)
        #expect(trace.entries.first { $0.stage == .store }?.byteCount == file)
        #expect(trace.entries.first { $0.stage == .disk }?.origin == nil, "nothing was stored")
        let memory = try await fixture.manager.response(for: request).trace.entries
        #expect(memory.map(\.origin) == [.memoryCache])
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        let disk = try await fixture.manager.response(for: request).trace.entries.first { $0.stage == .disk }
        #expect(disk?.origin == .diskCache && disk?.byteCount == file)
    }

    @Test func failedEntriesSaySo() async throws {
        let results = Results()
        let operation = fixture.manager.load(request, completion: results.note)
        try await fixture.nextLoad().refuse(404)
        _ = await results.wait(for: 1)
        let transfer = try #require(operation.trace.entries.first { $0.stage == .transfer })
        #expect(transfer.hasFailed && transfer.origin == nil && transfer.byteCount == nil)
        let damaged = WebImageRequest(try ManagerFixture.url("damaged"))
        let other = fixture.manager.load(damaged, completion: results.note)
        try await fixture.nextLoad().answer(Data("<html>".utf8))
        _ = await results.wait(for: 2)
        #expect(other.trace.entries.first { $0.stage == .decode }?.hasFailed == true)
    }

    @Test func writesOneLinePerEntry() {
        let trace = LoadTrace(entries: [
            LoadTrace.Entry(stage: .disk, start: .microseconds(12_300), duration: .milliseconds(500), message: "m")
        ])
        #expect(trace.description == "12.3 ms  +500.0 ms  disk: m")
    }
}
