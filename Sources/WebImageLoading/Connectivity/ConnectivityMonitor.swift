/// Tells whether there is a network, for loads that wait for one.
///
/// ``SystemConnectivity`` asks the kernel; a program may know better, from NetworkManager for example.
public protocol ConnectivityMonitor: Sendable {
    /// Whether there is a network; `true` when in doubt, since a load is tried then. May be asked on any thread, and answers
    /// soon.
    var isConnected: Bool { get }

    /// Calls `body` once, as soon as there is a network: on a thread of the monitor's, or inside this call.
    ///
    /// - Returns: what ends the waiting. Dropping it does not.
    func whenConnected(_ body: @escaping @Sendable () -> Void) -> ConnectivityWait
}

/// Somebody's waiting for a network.
public struct ConnectivityWait: Sendable {
    private let onCancel: @Sendable () -> Void

    /// - Parameter onCancel: makes the monitor forget it; may be called late, and more than once.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Ends it. A call that is being made on another thread may still finish.
    public func cancel() { onCancel() }
}
