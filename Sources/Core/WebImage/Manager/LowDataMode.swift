import WebImageCore

/// Whether the network costs money by the byte, as far as the desktop reports. The managers of a program share it.
package final class MeteredNetwork: Sendable {
    package static let shared = MeteredNetwork()

    private struct Reference { weak var mode: LowDataMode? }
    private struct State {
        var isMetered = false
        /// Those that have something to do once the network is no longer metered.
        var modes: [ObjectIdentifier: Reference] = [:]
    }

    private let state = Lock(State())

    init() {}

    package var isMetered: Bool {
        get { state.withLock { $0.isMetered } }
        set {
            let modes = state.withLock { state in
                state.isMetered = newValue
                defer { if !newValue { state.modes = [:] } }
                return newValue ? [] : state.modes.values.compactMap(\.mode)
            }
            for mode in modes { mode.update() }
        }
    }

    fileprivate func add(_ mode: LowDataMode) {
        state.withLock { state in
            state.modes = state.modes.filter { $0.value.mode != nil }
            state.modes[ObjectIdentifier(mode)] = Reference(mode: mode)
        }
    }
}

/// Whether a manager saves data: as the program says, or else as the network is.
final class LowDataMode: Sendable {
    private struct State {
        var chosen: Bool?
        var waiting: [@Sendable () -> Void] = []
    }

    private let network: MeteredNetwork
    private let state = Lock(State())

    init(_ network: MeteredNetwork) { self.network = network }

    var isEnabled: Bool {
        get { state.withLock { $0.chosen } ?? network.isMetered }
        set {
            state.withLock { $0.chosen = newValue }
            update()
        }
    }

    /// Follows the network again.
    func reset() {
        state.withLock { $0.chosen = nil }
        // The network may have changed while it did not count.
        network.add(self)
        update()
    }

    /// Calls `body` once the mode has ended, on any thread.
    ///
    /// - Returns: `false` if the mode is off. `body` is then not called.
    func whenEnded(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard isEnabled else { return false }
        state.withLock { $0.waiting.append(body) }
        network.add(self)
        // It may have ended meanwhile.
        update()
        return true
    }

    /// Calls what waits for the end, if the mode is off.
    fileprivate func update() {
        guard !isEnabled else { return }
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for body in waiting { body() }
    }
}
