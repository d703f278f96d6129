internal import CWebImageSystem
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Reports whether there is a network, for loads that wait for one.
package protocol ConnectivityMonitor: Sendable {
    /// Whether there is a network; `true` when in doubt, since a load is tried then. Does not block, on any thread.
    var isConnected: Bool { get }

    /// Calls `body` once, as soon as there is a network: on a thread of the monitor, or inside this call.
    ///
    /// - Returns: the wait, which can be cancelled. Releasing it does not cancel.
    func whenConnected(_ body: @escaping @Sendable () -> Void) -> ConnectivityWait
}

/// A wait for a network.
package struct ConnectivityWait: Sendable {
    private let onCancel: @Sendable () -> Void

    /// - Parameter onCancel: removes it from the monitor; may be called late, and more than once.
    init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Ends the wait. A call on another thread may still finish.
    func cancel() { onCancel() }
}

/// Reports a network while the kernel has a default route, over IPv4 or IPv6.
///
///     whenConnected ──► the first wait? open the kernel's route events (netlink)
///                       look at the routes ──► a default route? ──► call, forget
///                            ▲                       │ no
///                            └───── an event ◄───────┘          last one gone: close
///
/// Without waits it needs no thread and no descriptor. If the routes are unknown, as in some sandboxes, it reports a
/// network.
final class SystemConnectivity: ConnectivityMonitor {
    static let shared = SystemConnectivity()

    private struct State {
        var waiters: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
        var events: (any DispatchSourceRead)?
    }

    private let hasRoute: @Sendable () -> Bool
    private let openEvents: @Sendable () -> Int32
    private let queue = DispatchQueue(label: "webimage-network")
    private let state = Lock(State())

    convenience init() {
        self.init(hasRoute: { cwi_has_default_route() != 0 }, openEvents: { cwi_open_route_events() })
    }

    /// - Parameters:
    ///   - hasRoute: `true` when unknown.
    ///   - openEvents: returns a descriptor that becomes readable when the routes may have changed, and is closed here;
    ///     below 0 for none.
    init(hasRoute: @escaping @Sendable () -> Bool, openEvents: @escaping @Sendable () -> Int32) {
        self.hasRoute = hasRoute
        self.openEvents = openEvents
    }

    deinit { state.withLock { $0.events }?.cancel() }

    var isConnected: Bool { hasRoute() }

    func whenConnected(_ body: @escaping @Sendable () -> Void) -> ConnectivityWait {
        let (number, canWait) = state.withLock { state in
            state.lastNumber += 1
            state.waiters[state.lastNumber] = body
            // Before the routes are read, so that no change falls between the two.
            if state.events == nil { state.events = watch() }
            return (state.lastNumber, state.events != nil)
        }
        if !canWait || hasRoute() {
            if let body = take(number) { body() }
        }
        return ConnectivityWait { [weak self] in _ = self?.take(number) }
    }

    /// Whether the kernel's messages are read, for tests.
    var isWatching: Bool { state.withLock { $0.events != nil } }

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
            // Their content does not matter, nor whether the kernel dropped some.
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
            return (state.waiters.keys.sorted().compactMap { state.waiters[$0] }, state.events.take())
        }
        events?.cancel()
        for body in bodies { body() }
    }
}

extension URL {
    /// Whether loading it needs no network: a file, a `data:` URL, or a server on the loopback interface.
    var isOnThisMachine: Bool {
        if ["file", "data", "resource"].contains(scheme?.lowercased()) { return true }
        guard let host = canonicalHost else { return false }
        // RFC 6761, 6.3.
        if host == "localhost" || host.hasSuffix(".localhost") { return true }
        guard let address = IPAddress(host: host) else { return false }
        return IPNetwork.loopback.contains { $0.contains(address) }
    }
}
