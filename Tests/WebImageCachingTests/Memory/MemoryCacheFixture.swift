@testable import WebImageCore

@testable import WebImageCaching

/// A clock for caches that advances by a nanosecond at each reading, so that uses have an order.
final class TickingClock: Sendable {
    private let time = LockBox(Int64(1_000_000_000_000))

    var clock: MemoryClock {
        MemoryClock { [time] in
            time.withLock { time in
                time += 1
                return time
            }
        }
    }

    func advance(seconds: Double) { time.withLock { $0 += Int64(seconds * 1e9) } }

    func set(nanoseconds: Int64) { time.withLock { $0 = nanoseconds } }
}

/// Replaces the kernel: waits end immediately and are recorded.
final class FakeSensors: PressureSensing {
    struct State {
        var waits: [(nanoseconds: Int64?, watchesPressure: Bool)] = []
        var level: MemoryPressureLevel?
        var wakeCount = 0
        var closeCount = 0
        var duringWait: (@Sendable () -> Void)?
    }
    let state = LockBox(State())

    func wait(nanoseconds: Int64?, watchesPressure: Bool) -> MemoryPressureLevel? {
        let (level, duringWait) = state.withLock { state in
            state.waits.append((nanoseconds, watchesPressure))
            defer { (state.level, state.duringWait) = (nil, nil) }
            return (state.level, state.duringWait)
        }
        duringWait?()
        return level
    }

    func wake() { state.withLock { $0.wakeCount += 1 } }
    func close() { state.withLock { $0.closeCount += 1 } }
}

/// A cache, its clock, and its maintenance, whose thread runs when the test says so.
struct MemoryCacheFixture<Key: Hashable & Sendable, Value: Sendable> {
    let ticking = TickingClock()
    let sensors = FakeSensors()
    let threadStarts = LockBox(0)
    let maintenance: CacheMaintenance
    let cache: MemoryCache<Key, Value>

    init(_ key: Key.Type = Key.self, _ configure: (inout MemoryCache<Key, Value>.Configuration) -> Void = { _ in }) {
        maintenance = CacheMaintenance(now: ticking.clock.now, sensors: sensors) { [threadStarts] _, _ in
            threadStarts.withLock { $0 += 1 }
            return true
        }
        var configuration = MemoryCache<Key, Value>.Configuration()
        configuration.pressureSource = nil
        configure(&configuration)
        cache = MemoryCache(configuration: configuration, clock: ticking.clock, maintenance: maintenance)
    }
}
