import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct CacheMaintenanceTests {
    @Test func runsNoThreadWhileThereIsNothingToWaitFor() {
        let fixture = MemoryCacheFixture<Int, Int>()
        fixture.cache.set(1, for: 1)
        #expect(fixture.threadStarts.withLock { $0 } == 0, "nothing goes by time, and nobody asks for pressure")
        fixture.cache.set(2, for: 2, expiration: .seconds(100))
        #expect(fixture.threadStarts.withLock { $0 } == 1)
        fixture.cache.removeAll()
        #expect(fixture.maintenance.turn(), "it lingers")
        let lingering = fixture.sensors.state.withLock { $0.waits.last?.nanoseconds } ?? 0
        #expect(lingering > 999_000_000 && lingering <= 1_000_000_000)
        #expect(!fixture.maintenance.turn())
        #expect(!fixture.maintenance.isRunning)
        #expect(fixture.sensors.state.withLock { $0.closeCount } == 1)
        fixture.cache.set(2, for: 2, expiration: .seconds(100))
        #expect(fixture.threadStarts.withLock { $0 } == 2)
    }

    @Test func aThreadThatLingersGoesOn() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = 50 }
        fixture.cache.set(1, for: 1)
        fixture.cache.removeAll()
        #expect(fixture.maintenance.turn())
        fixture.cache.set(1, for: 1)
        #expect(fixture.maintenance.turn() && fixture.maintenance.turn() && fixture.maintenance.isRunning)
        #expect(fixture.threadStarts.withLock { $0 } == 1)
    }

    @Test func sweepsWhenTheFirstEntryIsDue() throws {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = 50 }
        fixture.cache.set(1, for: 1)
        fixture.cache.set(2, for: 2, expiration: .seconds(20))
        _ = fixture.maintenance.turn()
        let wait = try #require(fixture.sensors.state.withLock { $0.waits.last })
        let seconds = Double(try #require(wait.nanoseconds)) / 1e9
        #expect(abs(seconds - 20) < 0.001)
        #expect(!wait.watchesPressure)
        #expect(fixture.cache.count == 2)
        fixture.ticking.advance(seconds: 20)
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 1, "swept out without a look-up")
        fixture.ticking.advance(seconds: 30)
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 0)
    }

    @Test func sweepsNoMoreOftenThanEveryFiveSeconds() {
        let fixture = MemoryCacheFixture<Int, Int>()
        for key in 0..<20 { fixture.cache.set(key, for: key, expiration: .seconds(10 + Double(key) / 10)) }
        fixture.ticking.advance(seconds: 10.05)
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 19)
        fixture.ticking.advance(seconds: 1.5)
        // An entry with a shorter life does not hasten it either.
        fixture.cache.set(99, for: 99, expiration: .seconds(0.1))
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 20)
        fixture.ticking.advance(seconds: 3.5)
        _ = fixture.maintenance.turn()
        #expect(fixture.cache.count == 0)
    }

    @Test func isWokenForAnEarlierDeadline() {
        let fixture = MemoryCacheFixture<Int, Int>()
        fixture.cache.set(1, for: 1, expiration: .seconds(100))
        fixture.sensors.state.withLock { [cache = fixture.cache] state in
            state.duringWait = {
                cache.set(2, for: 2, expiration: .seconds(200))
                cache.set(3, for: 3, expiration: .seconds(10))
            }
        }
        _ = fixture.maintenance.turn()
        #expect(fixture.sensors.state.withLock { $0.wakeCount } == 1, "for the third entry, not for the second")
        _ = fixture.maintenance.turn()
        let nanoseconds = fixture.sensors.state.withLock { $0.waits.last?.nanoseconds } ?? 0
        #expect(abs(Double(nanoseconds) / 1e9 - 10) < 0.001)
    }

    @Test func passesPressureOnToTheCachesThatHaveEntries() {
        let sensors = FakeSensors()
        let maintenance = CacheMaintenance(sensors: sensors) { _, _ in true }
        let fixture = MemoryCacheFixture<Int, Int> {
            $0.pressureSource = SystemMemoryPressure(maintenance: maintenance)
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

    @Test func triesAgainWhereNoThreadIsToBeHad() {
        let attempts = Lock(0)
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
