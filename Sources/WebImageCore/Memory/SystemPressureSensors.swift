internal import Glibc
/// What wakes ``CacheMaintenance``'s thread.
package protocol PressureSensing: AnyObject, Sendable {
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
package final class SystemPressureSensors: PressureSensing {
    private struct State {
        var alarm: Alarm?
        var watch: PressureWatch?
        /// Whether `wake` was called while there was no alarm.
        var isWoken = false
    }

    private let fileSystemRoot: String
    private let state = Lock(State())

    /// - Parameter fileSystemRoot: a prefix for `/proc` and `/sys`, for tests.
    package init(fileSystemRoot: String = "") { self.fileSystemRoot = fileSystemRoot }

    package func wait(nanoseconds: Int64?, watchesPressure: Bool) -> MemoryPressureLevel? {
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

    package func wake() {
        state.withLock { state in
            if let alarm = state.alarm { alarm.ring() } else { state.isWoken = true }
        }
    }

    package func close() { state.withLock { $0 = State() } }

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
