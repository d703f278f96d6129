import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct MemoryPressureTests {
    private let source = MemoryPressureSource()

    private func fixture() -> MemoryCacheFixture<Int, Int> {
        MemoryCacheFixture { $0.pressureSource = source }
    }

    @Test func aWarningEvictsTheOlderHalfOfTheCost() {
        let fixture = fixture()
        for key in 0..<10 { fixture.cache.set(key, for: key, cost: 10) }
        source.report(.warning)
        #expect((0..<10).filter { fixture.cache.contains($0) } == [5, 6, 7, 8, 9])
        #expect(fixture.cache.statistics.evictionCounts[.memoryPressure] == 5)
    }

    @Test func aWarningEvictsTheOlderHalfOfTheEntriesIfCostsAreZero() {
        let fixture = fixture()
        for key in 0..<10 { fixture.cache.set(key, for: key) }
        source.report(.warning)
        #expect(fixture.cache.count == 5)
    }

    @Test func criticalPressureRemovesEverything() {
        let fixture = fixture()
        for key in 0..<10 { fixture.cache.set(key, for: key, cost: 10) }
        source.report(.critical)
        #expect(fixture.cache.count == 0 && fixture.cache.totalCost == 0)
    }

    @Test(arguments: [(0, [], []), (0.2, [8, 9], []), (1, Array(0..<10), Array(0..<10))] as [(Double, [Int], [Int])])
    func keepsAShareUnderPressure(share: Double, afterWarning: [Int], afterCritical: [Int]) {
        let reports = LockBox<[Bool]>([])
        let fixture = MemoryCacheFixture<Int, Int> { configuration in
            configuration.pressureSource = source
            configuration.shareKeptUnderPressure = share
            // It is called when the cache has responded.
            configuration.didReceivePressure = { isCritical in reports.withLock { $0.append(isCritical) } }
        }
        for (level, kept) in [(MemoryPressureLevel.warning, afterWarning), (.critical, afterCritical)] {
            for key in 0..<10 { fixture.cache.set(key, for: key, cost: 10) }
            source.report(level)
            #expect((0..<10).filter { fixture.cache.contains($0) } == kept)
        }
        #expect(reports.withLock { $0 } == [false, true])
    }

    @Test func repeatedReportsTakeEffectOnce() {
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

    @Test func observesOnceWithManyThreads() async {
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

@Suite(.timeLimit(.minutes(3))) struct CacheMaintenanceTests {
    @Test func runsNoThreadWithoutWork() {
        let fixture = MemoryCacheFixture<Int, Int>()
        fixture.cache.set(1, for: 1)
        #expect(fixture.threadStarts.withLock { $0 } == 0, "nothing expires, and pressure is not observed")
        fixture.cache.set(2, for: 2, expiration: .after(.seconds(100)))
        #expect(fixture.threadStarts.withLock { $0 } == 1)
        fixture.cache.removeAll()
        #expect(fixture.maintenance.turn(), "it lingers")
        let lingering = fixture.sensors.state.withLock { $0.waits.last?.nanoseconds } ?? 0
        #expect(lingering > 999_000_000 && lingering <= 1_000_000_000)
        #expect(!fixture.maintenance.turn())
        #expect(!fixture.maintenance.isRunning)
        #expect(fixture.sensors.state.withLock { $0.closeCount } == 1)
        fixture.cache.set(2, for: 2, expiration: .after(.seconds(100)))
        #expect(fixture.threadStarts.withLock { $0 } == 2)
    }

    @Test func anIdleThreadIsReused() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = .seconds(50) }
        fixture.cache.set(1, for: 1)
        fixture.cache.removeAll()
        #expect(fixture.maintenance.turn())
        fixture.cache.set(1, for: 1)
        #expect(fixture.maintenance.turn() && fixture.maintenance.turn() && fixture.maintenance.isRunning)
        #expect(fixture.threadStarts.withLock { $0 } == 1)
    }

    @Test func sweepsWhenTheFirstEntryExpires() throws {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = .seconds(50) }
        fixture.cache.set(1, for: 1)
        fixture.cache.set(2, for: 2, expiration: .after(.seconds(20)))
        _ = fixture.maintenance.turn()
        let wait = try #require(fixture.sensors.state.withLock { $0.waits.last })
        let seconds = Double(try #require(wait.nanoseconds)) / 1e9
        #expect(abs(seconds - 20) < 0.001)
        #expect(!wait.watchesPressure)
        #expect(fixture.cache.count == 2)
        fixture.ticking.advance(seconds: 20)
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 1, "removed without a look-up")
        fixture.ticking.advance(seconds: 30)
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 0)
    }

    @Test func sweepsNoMoreOftenThanEveryFiveSeconds() {
        let fixture = MemoryCacheFixture<Int, Int>()
        for key in 0..<20 { fixture.cache.set(key, for: key, expiration: .after(.seconds(10 + Double(key) / 10))) }
        fixture.ticking.advance(seconds: 10.05)
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 19)
        fixture.ticking.advance(seconds: 1.5)
        // An entry with a shorter lifetime does not cause an earlier sweep either.
        fixture.cache.set(99, for: 99, expiration: .after(.milliseconds(100)))
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 20)
        fixture.ticking.advance(seconds: 3.5)
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 0)
    }

    @Test func wakesForAnEarlierDeadline() {
        let fixture = MemoryCacheFixture<Int, Int>()
        fixture.cache.set(1, for: 1, expiration: .after(.seconds(100)))
        fixture.sensors.state.withLock { [cache = fixture.cache] state in
            state.duringWait = {
                cache.set(2, for: 2, expiration: .after(.seconds(200)))
                cache.set(3, for: 3, expiration: .after(.seconds(10)))
            }
        }
        _ = fixture.maintenance.turn()
        #expect(fixture.sensors.state.withLock { $0.wakeCount } == 1, "for the third entry, not for the second")
        _ = fixture.maintenance.turn()
        let nanoseconds = fixture.sensors.state.withLock { $0.waits.last?.nanoseconds } ?? 0
        #expect(abs(Double(nanoseconds) / 1e9 - 10) < 0.001)
    }

    @Test func reportsPressureToCachesWithEntries() {
        let sensors = FakeSensors()
        let maintenance = CacheMaintenance(sensors: sensors) { _, _ in true }
        let fixture = MemoryCacheFixture<Int, Int> {
            $0.pressureSource = MemoryPressureSource(maintenance: maintenance)
        }
        #expect(!maintenance.isRunning)
        fixture.cache.set(1, for: 1)
        #expect(maintenance.isRunning)
        sensors.state.withLock { $0.level = .critical }
        _ = maintenance.turn()
        #expect(sensors.state.withLock { $0.waits.last?.watchesPressure } == true)
        #expect(sensors.state.withLock { $0.waits.last?.nanoseconds ?? nil } == nil, "no timer")
        #expect(fixture.cache.count == 0)
    }

    @Test func triesAgainIfNoThreadCanBeStarted() {
        let attempts = LockBox(0)
        let maintenance = CacheMaintenance(sensors: FakeSensors()) { _, _ in
            attempts.withLock { $0 += 1 }
            return false
        }
        let first = maintenance.observePressure { _ in }
        #expect(!maintenance.isRunning)
        let second = maintenance.observePressure { _ in }
        #expect(attempts.withLock { $0 } == 2)
        withExtendedLifetime((first, second)) {}
    }

    @Test func aRealThreadEndsAfterTheLastObserver() async throws {
        let ended = Countdown()
        let maintenance = CacheMaintenance(sensors: SystemPressureSensors(), lingering: 0) { name, body in
            PlatformThread.start(name: name) {
                body()
                ended.signal()
            }
        }
        let observation = maintenance.observePressure { _ in }
        #expect(maintenance.isRunning)
        observation.cancel()
        try await ended.wait()
        #expect(!maintenance.isRunning)
    }
}
