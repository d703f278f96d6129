import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct ValueReleaseTests {
    /// Tells where it is released: a label that the test's executor gives its thread for a while.
    private final class Probe: Sendable {
        let onRelease: @Sendable () -> Void
        init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
        deinit { onRelease() }
    }

    @Test func releasesOnTheCallersThreadByDefault() {
        let released = Lock(0)
        let fixture = MemoryCacheFixture<Int, Probe> { $0.countLimit = 1 }
        let probe: () -> Probe = { Probe { released.withLock { $0 += 1 } } }
        fixture.cache.set(probe(), for: 1)
        fixture.cache.set(probe(), for: 1)
        #expect(released.withLock { $0 } == 1, "replaced")
        fixture.cache.set(probe(), for: 2)
        #expect(released.withLock { $0 } == 2, "evicted")
        fixture.cache.remove(for: 2)
        #expect(released.withLock { $0 } == 3, "removed")
        fixture.cache.set(probe(), for: 3)
        fixture.cache.removeAll()
        #expect(released.withLock { $0 } == 4, "removed with all")
    }

    @Test func releasesWhereTheExecutorRunsTheWork() {
        let released = Lock(0)
        let work = Lock<[@Sendable () -> Void]>([])
        var fixture: MemoryCacheFixture<Int, Probe>? = MemoryCacheFixture { configuration in
            configuration.countLimit = 2
            configuration.valueRelease = .custom { body in work.withLock { $0.append(body) } }
        }
        func run() -> Int {
            // The closures live on: what counts is where they run.
            for body in work.withLock({ $0 }) { body() }
            defer { released.withLock { $0 = 0 } }
            return released.withLock { $0 }
        }
        for key in 0..<5 { fixture?.cache.set(Probe { released.withLock { $0 += 1 } }, for: key) }
        #expect(released.withLock { $0 } == 0)
        #expect(run() == 3)
        fixture?.cache.trim(toCount: 1)
        #expect(released.withLock { $0 } == 0)
        #expect(run() == 1)
        fixture?.cache.removeAll()
        #expect(released.withLock { $0 } == 0)
        #expect(run() == 1)
        fixture?.cache.set(Probe { released.withLock { $0 += 1 } }, for: 9)
        fixture = nil
        #expect(released.withLock { $0 } == 0, "what the cache holds at its end")
        #expect(run() == 1)
    }

    @Test func releasesInTheBackground() async throws {
        let gate = Countdown()
        let isHeld = Lock(true)
        let wasHeld = Lock<Bool?>(nil)
        let fixture = MemoryCacheFixture<Int, Probe> { $0.valueRelease = .background }
        let probe: () -> Probe = {
            Probe {
                // On the caller's thread, the lock that it holds would be taken for ever.
                isHeld.withLock { isHeld in wasHeld.withLock { $0 = isHeld } }
                gate.signal()
            }
        }
        fixture.cache.set(probe(), for: 1)
        isHeld.withLock { isHeld in
            fixture.cache.removeAll()
            isHeld = false
        }
        try await gate.wait()
        #expect(wasHeld.withLock { $0 } == false)
    }
}
