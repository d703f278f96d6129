import Testing
import WebImageCore

@testable import WebImageCaching

@Suite struct MemoryPressureTests {
    private let source = ManualMemoryPressure()

    private func fixture() -> MemoryCacheFixture<Int, Int> {
        MemoryCacheFixture { $0.pressureSource = source }
    }

    @Test func aWarningTakesTheOlderHalfOfTheCost() {
        let fixture = fixture()
        for key in 0..<10 { fixture.cache.set(key, for: key, cost: 10) }
        source.report(.warning)
        #expect((0..<10).filter { fixture.cache.contains($0) } == [5, 6, 7, 8, 9])
        #expect(fixture.cache.statistics.evictionCounts[.memoryPressure] == 5)
    }

    @Test func aWarningTakesTheOlderHalfOfTheEntriesWhereNothingCosts() {
        let fixture = fixture()
        for key in 0..<10 { fixture.cache.set(key, for: key) }
        source.report(.warning)
        #expect(fixture.cache.count == 5)
    }

    @Test func aCriticalShortageTakesEverything() {
        let fixture = fixture()
        for key in 0..<10 { fixture.cache.set(key, for: key, cost: 10) }
        source.report(.critical)
        #expect(fixture.cache.count == 0 && fixture.cache.totalCost == 0)
    }

    @Test func aStormOfReportsIsHeededOnce() {
        let fixture = fixture()
        for key in 0..<16 { fixture.cache.set(key, for: key, cost: 1) }
        for _ in 0..<5 { source.report(.warning) }
        #expect(fixture.cache.count == 8)
        source.report(.critical)
        #expect(fixture.cache.count == 0, "more urgent")
        fixture.cache.set(1, for: 1)
        source.report(.critical)
        source.report(.warning)
        #expect(fixture.cache.count == 1)
        fixture.ticking.advance(seconds: 10)
        source.report(.critical)
        #expect(fixture.cache.count == 0, "the next shortage")
    }

    @Test func observesOnlyWhileThereAreEntries() {
        var fixture: MemoryCacheFixture<Int, Int>? = fixture()
        #expect(source.observerCount == 0)
        fixture?.cache.set(1, for: 1)
        fixture?.cache.set(2, for: 2)
        #expect(source.observerCount == 1)
        fixture?.cache.remove(for: 1)
        #expect(source.observerCount == 1)
        fixture?.cache.remove(for: 2)
        #expect(source.observerCount == 0)
        fixture?.cache.set(1, for: 1)
        fixture?.cache.removeAll()
        #expect(source.observerCount == 0)
        fixture?.cache.set(1, for: 1)
        #expect(source.observerCount == 1)
        fixture = nil
        #expect(source.observerCount == 0)
    }

    @Test func observesOnceWithManyThreadsAtWork() async {
        let fixture = fixture()
        await withTaskGroup { group in
            for part in 0..<4 {
                group.addTask {
                    for _ in 0..<2_000 {
                        fixture.cache.set(part, for: part)
                        fixture.cache.remove(for: part)
                    }
                }
            }
        }
        #expect(source.observerCount == 0)
        fixture.cache.set(1, for: 1)
        #expect(source.observerCount == 1)
    }
}
