import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage

@Suite(.timeLimit(.minutes(1))) struct BodyBudgetTests {
    private let budget = BodyBudget(byteLimit: 100)
    private let started = Lock<[String]>([])

    private func admit(_ name: String, priority: LoadPriority = .normal) -> (any WorkStep)? {
        budget.admit(priority: priority) { [started] in started.withLock { $0.append(name) } }
    }

    @Test func admitsAtOnceBelowTheLimit() {
        let share = budget.hold(99)
        #expect(admit("a") == nil)
        #expect(started.withLock { $0 } == ["a"])
        withExtendedLifetime(share) {}
    }

    @Test func admitsTheMostUrgentFirstWhenThereIsRoom() {
        var share: BodyBudget.Share? = budget.hold(100)
        let waiting = [admit("low", priority: .low), admit("first"), admit("second"), admit("late", priority: .low)]
        #expect(waiting.allSatisfy { $0 != nil })
        #expect(started.withLock { $0.isEmpty })
        waiting[3]?.setPriority(.high)
        waiting[1]?.cancel()
        withExtendedLifetime(share) {}
        share = nil
        #expect(started.withLock { $0 } == ["late", "second", "low"])
    }

    @Test func admitsNoMoreThanFit() {
        var share: BodyBudget.Share? = budget.hold(100)
        let next = Lock<BodyBudget.Share?>(nil)
        _ = budget.admit(priority: .normal) { [budget] in next.withLock { $0 = budget.hold(150) } }
        _ = admit("after")
        withExtendedLifetime(share) {}
        share = nil
        #expect(budget.heldByteCount == 150)
        #expect(started.withLock { $0.isEmpty }, "the first filled it again")
        let last = next.withLock { share in
            defer { share = nil }
            return share
        }
        withExtendedLifetime(last) {}
        _ = consume last
        #expect(started.withLock { $0 } == ["after"])
    }

    @Test func holdsBodiesUntilTheyAreDecoded() async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try ManagerFixture(decoder: decoder)
        var configuration = fixture.manager.configuration
        configuration.cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        let png = try SolidPicture(1).png()
        let pipeline = Pipeline(configuration, undecoded: BodyBudget(byteLimit: png.count))
        let ends = Countdown(2)
        for name in ["a", "b"] {
            _ = pipeline.join(WebImageRequest(try ManagerFixture.url(name))) { event in
                if case .finished(.success) = event { ends.signal() }
            }
            if name == "a" {
                try await fixture.nextLoad().answer(png)
                try await decoder.starts.first()
            }
        }
        #expect(fixture.loader.loadCount == 1, "the second waits for the first's decode")
        decoder.release()
        try await fixture.nextLoad().answer(png)
        try await ends.wait()
        #expect(pipeline.pictures.count == 0)
    }
}
