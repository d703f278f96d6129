import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage

@Suite(.timeLimit(.minutes(1))) struct BodyBudgetTests {
    private let budget = BodyBudget(byteLimit: 3 * BodyBudget.estimatedByteCount)
    private let started = Lock<[String]>([])
    private let shares = Lock<[String: BodyBudget.Share]>([:])

    private func admit(_ name: String, priority: LoadPriority = .normal) -> (any WorkStep)? {
        budget.admit(priority: priority) { [started, shares] share in
            started.withLock { $0.append(name) }
            shares.withLock { $0[name] = share }
        }
    }

    private func letGo(_ name: String) {
        let share = shares.withLock { $0.removeValue(forKey: name) }
        withExtendedLifetime(share) {}
    }

    @Test func countsWhatIsAdmittedBeforeItsLengthIsKnown() {
        for name in ["a", "b", "c"] { #expect(admit(name) == nil) }
        #expect(admit("d") != nil)
        #expect(started.withLock { $0 } == ["a", "b", "c"])
        shares.withLock { $0["a"] }?.settle(10)
        #expect(started.withLock { $0 } == ["a", "b", "c", "d"], "it was shorter than thought")
    }

    @Test func admitsTheMostUrgentFirstWhenThereIsRoom() {
        shares.withLock { $0["all"] = budget.hold(3 * BodyBudget.estimatedByteCount) }
        let waiting = [admit("low", priority: .low), admit("first"), admit("second"), admit("late", priority: .low)]
        #expect(waiting.allSatisfy { $0 != nil })
        waiting[3]?.setPriority(.high)
        waiting[1]?.cancel()
        letGo("all")
        #expect(started.withLock { $0 } == ["late", "second", "low"])
    }

    @Test func isNotFullOfWhatIsOnlyExpected() {
        for name in ["a", "b", "c"] { #expect(admit(name) == nil) }
        #expect(!budget.isFull, "the disk may have nothing of all three")
        shares.withLock { $0["a"] }?.settle(3 * BodyBudget.estimatedByteCount)
        #expect(budget.isFull)
        for name in ["a", "b", "c"] { letGo(name) }
        #expect(!budget.isFull)
        #expect(budget.heldByteCount == 0)
    }

    @Test func admitsNothingWhileABodyIsLongerThanAllOfIt() {
        #expect(admit("long") == nil)
        shares.withLock { $0["long"] }?.settle(10 * BodyBudget.estimatedByteCount)
        #expect(budget.isFull)
        #expect(admit("after") != nil)
        letGo("long")
        #expect(started.withLock { $0 } == ["long", "after"])
        letGo("after")
        #expect(budget.heldByteCount == 0)
    }

    @Test func holdsBodiesFromTheDiskUntilTheyAreDecoded() async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try ManagerFixture(decoder: decoder)
        let pipeline = Pipeline(fixture.manager.configuration, undecoded: BodyBudget(byteLimit: 1))
        let ends = Countdown(2)
        for name in ["a", "b"] {
            let url = try ManagerFixture.url(name)
            fixture.cache.disk?.store(try SolidPicture(1).png(), for: url.absoluteString)
            _ = pipeline.join(try #require(pipeline.context(for: WebImageRequest(url)))) { event in
                if case .finished(.success) = event { ends.signal() }
            }
        }
        try await decoder.starts.first()
        #expect(pipeline.undecoded.isFull)
        #expect(decoder.decodeCount == 1, "the second waits for the first's decode")
        decoder.release()
        try await ends.wait()
        #expect(decoder.decodeCount == 2)
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func putsABodyFromTheNetworkInAFileWhileItIsFull() async throws {
        let fixture = try ManagerFixture()
        let pipeline = Pipeline(fixture.manager.configuration, undecoded: BodyBudget(byteLimit: 1))
        let other = pipeline.undecoded.hold(5)
        let ends = Countdown()
        let request = WebImageRequest(try ManagerFixture.url("a"), options: .ignoreDiskCache)
        _ = pipeline.join(try #require(pipeline.context(for: request))) { event in
            if case .finished(.success) = event { ends.signal() }
        }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await ends.wait()
        #expect(pipeline.undecoded.heldByteCount == 5, "what lies in a file takes no memory")
        withExtendedLifetime(other) {}
    }
}
