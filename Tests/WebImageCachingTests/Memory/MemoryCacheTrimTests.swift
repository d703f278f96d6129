import Dispatch
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// `trim` of more entries than one step removes.
@Suite(.timeLimit(.minutes(1))) struct MemoryCacheTrimTests {
    private static let count = 10_000

    /// Reports each step, whose values it releases.
    private func cache(onStep: @escaping @Sendable () -> Void) -> MemoryCache<Int, Int> {
        var configuration = MemoryCache<Int, Int>.Configuration()
        configuration.releaseHandler = { work in
            work()
            onStep()
        }
        let cache = MemoryCache<Int, Int>(configuration: configuration)
        for number in 0..<Self.count { cache.set(number, for: number, cost: 2) }
        return cache
    }

    private func waitUntil(_ count: Int, _ cache: MemoryCache<Int, Int>, _ steps: AsyncStream<Void>) async {
        var iterator = steps.makeAsyncIterator()
        while cache.count > count, !Task.isCancelled { _ = await iterator.next() }
    }

    @Test func theRestIsRemovedInStepsOldestFirst() async {
        let (steps, continuation) = AsyncStream<Void>.makeStream()
        let stepCount = LockBox(0)
        let cache = cache {
            stepCount.withLock { $0 += 1 }
            continuation.yield()
        }
        cache.trim(toCost: 2_000)
        await waitUntil(1_000, cache, steps)
        #expect(cache.totalCost == 2_000)
        #expect((0..<Self.count).allSatisfy { cache.contains($0) == ($0 >= 9_000) })
        #expect(stepCount.withLock { $0 } == 9)
        #expect(cache.statistics.evictionCounts[EvictionCause.trim] == 9_000)
    }

    @Test func whatIsStoredOrUsedAfterTheCallStays() async {
        let (steps, continuation) = AsyncStream<Void>.makeStream()
        let isFirst = LockBox(true)
        let resume = DispatchSemaphore(value: 0)
        let cache = cache {
            let isFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            // The third step runs after the changes below.
            if !isFirst {
                resume.wait()
                resume.signal()
            }
            continuation.yield()
        }
        cache.trim(toCount: 0)
        cache.set(-1, for: -1)
        #expect(cache.value(for: 9_999) == 9_999)
        resume.signal()
        await waitUntil(2, cache, steps)
        #expect(cache.count == 2 && cache.contains(-1) && cache.contains(9_999))
    }

    @Test func aLowerLimitHoldsAtOnce() {
        let cache = cache {}
        cache.countLimit = 10
        #expect(cache.count == 10)
    }
}
