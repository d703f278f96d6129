internal import CWebImageSystem
internal import Dispatch
internal import Glibc
internal import WebImageCore

/// What the kernel's routes say: there is a network while there is a way to addresses that no other route knows (a default
/// route), over IPv4 or IPv6.
///
///     whenConnected ──► first of those who wait? open the kernel's route events (netlink)
///                       look at the routes ──► a default route? ──► call, forget
///                            ▲                       │ no
///                            └───── an event ◄───────┘          last one gone: close
///
/// It costs nothing while nobody waits: no thread, no descriptor. Where the kernel does not tell, as in some sandboxes, there
/// is a network.
public final class SystemConnectivity: ConnectivityMonitor {
    /// The one that managers use unless told otherwise.
    public static let shared = SystemConnectivity()

    private struct State {
        var waiters: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
        var events: (any DispatchSourceRead)?
    }

    private let hasRoute: @Sendable () -> Bool
    private let openEvents: @Sendable () -> Int32
    private let queue = DispatchQueue(label: "webimage-network")
    private let state = Lock(State())

    /// Makes a monitor of this machine.
    public convenience init() {
        self.init(hasRoute: { cwi_has_default_route() != 0 }, openEvents: { cwi_open_route_events() })
    }

    /// - Parameters:
    ///   - hasRoute: `true` where nobody can tell.
    ///   - openEvents: gives a descriptor that can be read when the routes may have changed; it is closed here. Below 0 where
    ///     there is none.
    package init(hasRoute: @escaping @Sendable () -> Bool, openEvents: @escaping @Sendable () -> Int32) {
        self.hasRoute = hasRoute
        self.openEvents = openEvents
    }

    deinit { state.withLock { $0.events }?.cancel() }

    /// Whether there is a default route now.
    public var isConnected: Bool { hasRoute() }

    /// Calls `body` once there is a default route: inside this call if there is one, else on the monitor's queue.
    public func whenConnected(_ body: @escaping @Sendable () -> Void) -> ConnectivityWait {
        let (number, canWait) = state.withLock { state in
            state.lastNumber += 1
            state.waiters[state.lastNumber] = body
            // Before the look at the routes, so that no change falls between the two.
            if state.events == nil { state.events = watch() }
            return (state.lastNumber, state.events != nil)
        }
        if !canWait || hasRoute() {
            if let body = take(number) { body() }
        }
        return ConnectivityWait { [weak self] in _ = self?.take(number) }
    }

    /// Whether anybody waits.
    package var isWatching: Bool { state.withLock { $0.events != nil } }

    private func take(_ number: Int) -> (@Sendable () -> Void)? {
        let (body, events) = state.withLock { state -> ((@Sendable () -> Void)?, (any DispatchSourceRead)?) in
            let body = state.waiters.removeValue(forKey: number)
            return (body, state.waiters.isEmpty ? state.events.take() : nil)
        }
        events?.cancel()
        return body
    }

    private func watch() -> (any DispatchSourceRead)? {
        let descriptor = openEvents()
        guard descriptor >= 0 else { return nil }
        let events = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        events.setEventHandler { [weak self] in
            var messages = [UInt8](repeating: 0, count: 16 << 10)
            // What they say does not matter; that the kernel had to drop some does not either.
            while read(descriptor, &messages, messages.count) > 0 {}
            self?.routesMayHaveChanged()
        }
        events.setCancelHandler { close(descriptor) }
        events.resume()
        return events
    }

    private func routesMayHaveChanged() {
        guard hasRoute() else { return }
        let (bodies, events) = state.withLock { state in
            defer { state.waiters = [:] }
            return (state.waiters.sorted { $0.key < $1.key }.map(\.value), state.events.take())
        }
        events?.cancel()
        for body in bodies { body() }
    }
}
