import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage

@Suite(.timeLimit(.minutes(1))) struct EventsTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test func endWithTheResult() async throws {
        let reading = Task { [manager = fixture.manager, url] in
            var events: [LoadEvent] = []
            for await event in manager.events(for: WebImageRequest(url)) { events.append(event) }
            return events
        }
        let png = try SolidPicture(3).png()
        try await fixture.nextLoad().answer(png, pieceCount: 3)
        let events = await reading.value

        guard case .progress(received: 0, expected: Int64(png.count))? = events.first else {
            Issue.record("began with \(String(describing: events.first))")
            return
        }
        guard case .finished(.success(let response))? = events.last else {
            Issue.record("ended with \(String(describing: events.last))")
            return
        }
        #expect(SolidPicture(3).matches(response.image))
        let ends = events.filter { if case .finished = $0 { true } else { false } }
        #expect(ends.count == 1)
    }

    @Test func deliverAStoredImageAsAPreviewAndThenTheResult() async throws {
        let request = WebImageRequest(url, cachePolicy: .refresh)
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        let reading = Task { [manager = fixture.manager] in
            var events: [LoadEvent] = []
            for await event in manager.events(for: request) { events.append(event) }
            return events
        }
        try await fixture.nextLoad().answer(SolidPicture(2).png())
        let events = await reading.value
        let previews = events.compactMap { if case .preview(let image) = $0 { image } else { nil } }
        #expect(previews.count == 1 && previews.allSatisfy(SolidPicture(1).matches))
        #expect(events.contains { if case .progress = $0 { true } else { false } })
        guard case .finished(.success(let response))? = events.last else {
            Issue.record("ended with \(String(describing: events.last))")
            return
        }
        #expect(response.origin == .remote && SolidPicture(2).matches(response.image))
    }

    @Test func cancelTheLoadWhenTheIterationStops() async throws {
        let reading = Task { [manager = fixture.manager, url] in
            for await event in manager.events(for: WebImageRequest(url)) {
                if case .progress = event { break }
            }
        }
        let load = try await fixture.nextLoad()
        load.begin(expectedByteCount: 100)
        try await load.cancellations.first()
        await reading.value
    }

    @Test func deliverTheEndWhenTheTaskIsCancelled() async throws {
        let reading = Task { [manager = fixture.manager, url] in
            var last: LoadEvent?
            for await event in manager.events(for: WebImageRequest(url)) { last = event }
            return last
        }
        let load = try await fixture.nextLoad()
        reading.cancel()
        guard case .finished(.failure(.cancelled))? = await reading.value else {
            Issue.record("no end after the cancel")
            return
        }
        try await load.cancellations.first()
    }

    @Test func loadNothingUntilIterated() async throws {
        _ = fixture.manager.events(for: WebImageRequest(url))
        #expect(fixture.loader.loadCount == 0)
        #expect(fixture.manager.runningOperations.isEmpty)
    }

    @Test func deliverTheNewestPreviewBeforeTheEnd() async throws {
        let inbox = EventInbox()
        inbox.put(try CodecRegistry.shared.decode(SolidPicture(1).png()))
        inbox.put(try CodecRegistry.shared.decode(SolidPicture(2).png()))
        inbox.end(.failure(.cancelled))
        inbox.put(try CodecRegistry.shared.decode(SolidPicture(3).png()))
        guard case .preview(let preview)? = await inbox.next() else {
            Issue.record("no preview")
            return
        }
        #expect(SolidPicture(2).matches(preview))
        guard case .finished? = await inbox.next() else {
            Issue.record("no end")
            return
        }
        #expect(await inbox.next() == nil)
    }

    @Test func ignoreProgressThatComesAfterTheEnd() async {
        let inbox = EventInbox()
        inbox.end(.failure(.cancelled))
        inbox.put(LoadProgress(received: 1, expected: nil))
        guard case .finished? = await inbox.next() else {
            Issue.record("the end is not first")
            return
        }
        inbox.put(LoadProgress(received: 2, expected: nil))
        #expect(await inbox.next() == nil)
    }
}
