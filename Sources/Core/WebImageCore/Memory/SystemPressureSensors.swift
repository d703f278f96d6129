internal import Glibc

/// The events that wake ``CacheMaintenance``'s thread.
protocol PressureSensing: AnyObject, Sendable {
    /// Waits until the time has passed, memory is low, or ``wake()`` is called. Called on the thread only.
    ///
    /// - Parameters:
    ///   - nanoseconds: `nil` for no limit.
    ///   - watchesPressure: whether to watch for memory pressure.
    /// - Returns: the level, if memory is low.
    func wait(nanoseconds: Int64?, watchesPressure: Bool) -> MemoryPressureLevel?
    /// Ends the current wait, or the next one. May be called from any thread.
    func wake()
    /// Closes the files opened by waits. The next wait opens them again.
    func close()
}

/// Waits with `poll` for the kernel's events.
final class SystemPressureSensors: PressureSensing {
    private struct State {
        var alarm: Alarm?
        var watch: PressureWatch?
        /// Whether `wake` was called while there was no alarm.
        var isWoken = false
    }

    private let fileSystemRoot: String
    private let state = Lock(State())

    /// - Parameter fileSystemRoot: a prefix for `/proc` and `/sys`, for tests.
    init(fileSystemRoot: String = "") { self.fileSystemRoot = fileSystemRoot }

    func wait(nanoseconds: Int64?, watchesPressure: Bool) -> MemoryPressureLevel? {
        let (alarm, watch, isWoken): (Alarm?, PressureWatch?, Bool) = state.withLock { state in
            if state.alarm == nil { state.alarm = Alarm() }
            if watchesPressure, state.watch == nil { state.watch = PressureWatch(fileSystemRoot: fileSystemRoot) }
            defer { state.isWoken = false }
            return (state.alarm, watchesPressure ? state.watch : nil, state.isWoken)
        }
        if isWoken { return nil }
        var polled = [pollfd(fd: alarm?.receiver ?? -1, events: Int16(POLLIN), revents: 0)]
        polled += watch?.polled ?? []
        // Without an alarm, checks once a second.
        let limits = [nanoseconds, watch?.pollInterval, alarm == nil ? 1_000_000_000 : nil].compactMap { $0 }
        // Rounded up, so that the time has passed when the wait ends. At most a day, since `poll` is limited to 24
        // days.
        let milliseconds = limits.min().map { Int32(min($0, 86_400_000_000_000) / 1_000_000 + 1) }
        let count = poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
        if count > 0, polled[0].revents != 0 { alarm?.reset() }
        return watch?.level(after: count > 0 ? Array(polled.dropFirst()) : [])
    }

    func wake() {
        state.withLock { state in
            if let alarm = state.alarm { alarm.ring() } else { state.isWoken = true }
        }
    }

    func close() { state.withLock { $0 = State() } }

    /// A pair of connected descriptors: writing to one wakes the thread that polls the other.
    private final class Alarm: Sendable {
        private let sender: Int32
        let receiver: Int32

        init?() {
            var ends: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
            (sender, receiver) = (ends[0], ends[1])
        }

        deinit {
            Glibc.close(sender)
            Glibc.close(receiver)
        }

        func ring() {
            var byte: UInt8 = 1
            // Writing fails only while many wake-ups are pending, so that one more makes no difference.
            _ = write(sender, &byte, 1)
        }

        func reset() {
            var bytes = [UInt8](repeating: 0, count: 64)
            while read(receiver, &bytes, bytes.count) == bytes.count {}
        }
    }
}

/// The kernel's memory pressure files, opened. Used by one thread at a time.
///
/// | source | event | level |
/// |---|---|---|
/// | `memory.pressure` of the control group, else `/proc/pressure/memory` | some task waited for memory for 150 ms of 2 s | warning |
/// | the same | all tasks did, for 100 ms | critical |
/// | `memory.events` of the control group | the group ran out of memory | critical |
/// | the same | the group reached a limit | according to ``AvailableMemory``, since file pages alone can fill a group |
/// | none, without the first | every 5 s | according to ``AvailableMemory`` |
final class PressureWatch: @unchecked Sendable {
    // `@unchecked`: passed between the threads of `CacheMaintenance`, of which one exists at a time.

    private enum Sensor {
        case stall(MemoryPressureLevel)
        case events
    }

    /// A window of 2 s is the shortest for which the kernel requires no privileges.
    private static let triggers: [(level: MemoryPressureLevel, text: String)] = [
        (.warning, "some 150000 2000000"), (.critical, "full 100000 2000000"),
    ]
    /// The interval between readings without events, and the time for which the control group's events are ignored
    /// after one.
    private static let (accountInterval, eventInterval): (Int64, Int64) = (5_000_000_000, 1_000_000_000)

    private let fileSystemRoot: String
    private let eventsFile: String?
    private var sensors: [(sensor: Sensor, descriptor: Int32)] = []
    private var seesStalls = false
    private var knownEvents: [String: Int] = [:]
    private var nextAccount: Int64
    private var earliestEvent = Int64.min

    init(fileSystemRoot: String) {
        self.fileSystemRoot = fileSystemRoot
        nextAccount = Self.now + Self.accountInterval
        let group = ControlGroup.ofProcess(fileSystemRoot: fileSystemRoot).last { $0.isUnified }
        eventsFile = group.map { $0.folder + "/memory.events" }
        openStallTriggers(in: [group.map { $0.folder + "/memory.pressure" }, "\(fileSystemRoot)/proc/pressure/memory"])
        openEvents()
    }

    deinit { for (_, descriptor) in sensors { close(descriptor) } }

    /// The descriptors to poll.
    var polled: [pollfd] {
        let mutesEvents = Self.now < earliestEvent
        return sensors.map { sensor, descriptor in
            switch sensor {
            case .stall: pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
            case .events: pollfd(fd: mutesEvents ? -1 : descriptor, events: Int16(POLLIN), revents: 0)
            }
        }
    }

    /// The longest time to wait, in nanoseconds; `nil` for no limit.
    var pollInterval: Int64? {
        let now = Self.now
        let rest = earliestEvent > now ? earliestEvent - now : nil
        return seesStalls ? rest : min(rest ?? .max, max(0, nextAccount - now))
    }

    /// Returns the most severe level after a wait.
    ///
    /// - Parameter polled: ``polled`` after the wait; empty if nothing happened.
    func level(after polled: [pollfd]) -> MemoryPressureLevel? {
        var levels: [MemoryPressureLevel] = []
        for ((sensor, _), result) in zip(sensors, polled) where result.revents != 0 {
            switch sensor {
            case .stall(let level):
                if result.revents & Int16(POLLPRI) != 0, result.revents & Int16(POLLERR) == 0 { levels.append(level) }
            case .events: if let level = levelOfEvents() { levels.append(level) }
            }
        }
        // The control group of that file no longer exists.
        let broken = Int16(POLLERR | POLLNVAL | POLLHUP)
        for (index, result) in polled.enumerated().reversed() where result.revents & broken != 0 {
            if case .stall = sensors[index].sensor { seesStalls = false }
            close(sensors.remove(at: index).descriptor)
        }
        if !seesStalls, Self.now >= nextAccount {
            nextAccount = Self.now + Self.accountInterval
            if let level = AvailableMemory.level(fileSystemRoot: fileSystemRoot) { levels.append(level) }
        }
        return levels.max()
    }

    private func levelOfEvents() -> MemoryPressureLevel? {
        if let descriptor = sensors.first(where: { if case .events = $0.sensor { true } else { false } })?.descriptor {
            var notifications = [UInt8](repeating: 0, count: 4_096)
            while read(descriptor, &notifications, notifications.count) > 0 {}
        }
        earliestEvent = Self.now + Self.eventInterval
        let events = eventsFile.map(TextFile.numbers) ?? [:]
        defer { knownEvents = events }
        func hasRisen(_ name: String) -> Bool { events[name, default: 0] > knownEvents[name, default: 0] }
        if hasRisen("oom") || hasRisen("oom_kill") { return .critical }
        guard hasRisen("max") || hasRisen("high") else { return nil }
        return AvailableMemory.level(fileSystemRoot: fileSystemRoot)
    }

    private func openStallTriggers(in paths: [String?]) {
        for path in paths.compactMap({ $0 }) where !seesStalls {
            for (level, text) in Self.triggers {
                let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
                guard descriptor >= 0 else { continue }
                // The kernel requires the terminating 0. The second trigger fails where "some" and "full" stalls cannot
                // be distinguished.
                let length = text.utf8.count + 1
                guard isStallFile(descriptor), write(descriptor, text, length) == length else {
                    close(descriptor)
                    continue
                }
                sensors.append((.stall(level), descriptor))
                seesStalls = true
            }
        }
    }

    /// Whether this is the kernel's file, and not one that other users may write to.
    private func isStallFile(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_size == 0
    }

    private func openEvents() {
        guard let eventsFile else { return }
        let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else { return }
        guard inotify_add_watch(descriptor, eventsFile, UInt32(IN_MODIFY)) >= 0 else {
            close(descriptor)
            return
        }
        knownEvents = TextFile.numbers(eventsFile)
        sensors.append((.events, descriptor))
    }

    private static var now: Int64 { BootTime.now.nanoseconds }
}
