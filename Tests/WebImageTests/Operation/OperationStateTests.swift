import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

/// The states of a load, as a program follows them.
@Suite(.timeLimit(.minutes(1))) struct OperationStateTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test func followsTheBytesThenTheWorkThenTheEnd() async throws {
        let processor = ProbeProcessor(name: "held")
        processor.probe.isHeld.withLock { $0 = true }
        let operation = fixture.manager.load(WebImageRequest(url, processors: [processor.erased]))
        var states = operation.states().makeAsyncIterator()
        #expect(await states.next() == .loading(received: 0, expected: nil))
        let (load, file) = (try await fixture.nextLoad(), try SolidPicture(1).png())
        let length = Int64(file.count)
        load.begin(expectedByteCount: length)
        #expect(await states.next() == .loading(received: 0, expected: length))
        load.send(file.prefix(20))
        #expect(await states.next() == .loading(received: 20, expected: length))
        #expect(operation.state == .loading(received: 20, expected: length))
        load.send(file.dropFirst(20))
        load.end(.success(()))
        _ = try await processor.probe.starts.first()
        #expect(operation.state == .decoding)
        #expect(await states.next() == .decoding)
        processor.probe.release()
        #expect(await states.next() == .finished)
        #expect(await states.next() == nil)
        #expect(operation.state == .finished)
    }

    @Test func aLoadThatJoinsLateIsToldToo() async throws {
        let processor = ProbeProcessor(name: "held")
        processor.probe.isHeld.withLock { $0 = true }
        let request = WebImageRequest(url, processors: [processor.erased])
        let first = fixture.manager.load(request)
        try await fixture.nextLoad().answer(SolidPicture(1), "")
        _ = try await processor.probe.starts.first()
        let second = fixture.manager.load(request)
        #expect(second.state == .decoding)
        processor.probe.release()
        _ = try await (first.response, second.response)
        #expect(processor.runCount == 1)
    }

    @Test func aCancellationIsTheLastState() async throws {
        let operation = fixture.manager.load(WebImageRequest(url))
        var states = operation.states().makeAsyncIterator()
        #expect(await states.next() == .loading(received: 0, expected: nil))
        operation.cancel()
        #expect(await states.next() == .cancelled)
        #expect(await states.next() == nil)
    }

    @Test func aReaderThatComesAfterTheEndIsTold() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let operation = fixture.manager.load(WebImageRequest(url))
        _ = try await operation.response
        var seen: [WebImageOperation.State] = []
        for await state in operation.states() { seen.append(state) }
        #expect(seen == [.finished])
    }

    @Test func aReaderThatStopsDoesNotCancelTheLoad() async throws {
        let operation = fixture.manager.load(WebImageRequest(url))
        for await _ in operation.states() { break }
        try await fixture.nextLoad().answer(SolidPicture(1), "")
        #expect(SolidPicture(1).matches(try await operation.response.image))
    }

    @Test func aSuspendedLoadWaits() async throws {
        fixture.manager.isSuspended = true
        let operation = fixture.manager.load(WebImageRequest(url))
        var states = operation.states().makeAsyncIterator()
        #expect(await states.next() == .waiting)
        fixture.manager.isSuspended = false
        #expect(await states.next() == .loading(received: 0, expected: nil))
        operation.cancel()
    }

    @Test func anotherAttemptStartsAtZero() async throws {
        let request = WebImageRequest(url).with {
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, initialBackoff: .zero)
        }
        let operation = fixture.manager.load(request)
        let first = try await fixture.nextLoad()
        first.begin(expectedByteCount: 100)
        first.send(Data(count: 50))
        #expect(operation.state == .loading(received: 50, expected: 100))
        first.end(.failure(.transport(code: 56, message: "reset", url: url)))
        let second = try await fixture.nextLoad()
        #expect(operation.state == .loading(received: 0, expected: nil))
        try second.answer(SolidPicture(1), "")
        _ = try await operation.response
    }
}
