internal import WebImageCore

/// The pieces of all bodies that wait to be written to temporary files.
///
/// Servers may be faster than the disk, and short bodies end before one of their pieces is written. So loads pause while much waits, whichever
/// body it belongs to: those that add a piece, and those whose body begins.
///
/// ```
/// add, or a body begins ──► over 4 MiB: the load is paused ──► below 1 MiB: all paused loads are resumed
/// ```
package final class SpoolBacklog: Sendable {
    private struct State {
        var byteCount = 0
        var pausedLoads: [ObjectIdentifier: DeferredTask] = [:]
    }

    /// That of all bodies, since their threads are shared, too.
    static let shared = SpoolBacklog()

    private let state = Lock(State())
    private static let highWater = 4 << 20
    private static let lowWater = 1 << 20

    init() {}

    /// The number of bytes that wait, or that are being written.
    var byteCount: Int { state.withLock { $0.byteCount } }

    /// Counts bytes that wait from now on, or have been written just now; 0 if a body begins. Pauses its load if too many wait.
    func add(_ byteCount: Int, of load: DeferredTask) {
        let id = ObjectIdentifier(load)
        let isFull = state.withLock { state in
            state.byteCount += byteCount
            guard state.byteCount > Self.highWater else { return false }
            state.pausedLoads[id] = load
            return true
        }
        guard isFull else { return }
        load.pause()
        // A thread that wrote everything meanwhile may have resumed it before it was paused.
        if state.withLock({ $0.pausedLoads[id] == nil }) { load.resume() }
    }

    /// Counts bytes that are written, or given up.
    func remove(_ byteCount: Int) {
        let loads = state.withLock { state -> [ObjectIdentifier: DeferredTask] in
            state.byteCount -= byteCount
            guard state.byteCount < Self.lowWater, !state.pausedLoads.isEmpty else { return [:] }
            defer { state.pausedLoads = [:] }
            return state.pausedLoads
        }
        for load in loads.values { load.resume() }
    }
}
