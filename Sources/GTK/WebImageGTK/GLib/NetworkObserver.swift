internal import CWebImageGTK
internal import Dispatch
internal import GTKObjects
internal import WebImage

/// Follows whether the desktop's network is metered, for the low-data mode of managers.
@MainActor final class NetworkObserver {
    private let monitor: ObjectReference
    private let network: MeteredNetwork
    private var connection: SignalConnection?

    /// - Parameter monitor: a `GNetworkMonitor`, or another object with its property.
    init(of monitor: ObjectPointer, for network: MeteredNetwork) {
        self.monitor = ObjectReference(retaining: monitor)
        self.network = network
        connection = monitor.onChange(of: Self.property) { [weak self] in self?.update() }
        update()
    }

    isolated deinit { if let connection { monitor.pointer.disconnect(connection) } }

    private func update() {
        var value = GValue()
        g_object_get_property(monitor.pointer.object, Self.property, &value)
        network.isMetered = g_value_get_boolean(&value) != 0
        g_value_unset(&value)
    }

    private static let property = "network-metered"
    private static var shared: NetworkObserver?
    /// Whether the default monitor is followed, for tests.
    static var isInstalled: Bool { shared != nil }

    /// Follows the default monitor, from soon on. GIO may ask a service over D-Bus to make it, which takes milliseconds, so another
    /// thread does that.
    static func install() {
        DispatchQueue.global(qos: .utility).async {
            // Lives until the program ends.
            guard let monitor = g_network_monitor_get_default() else { return }
            nonisolated(unsafe) let pointer = ObjectPointer(monitor)  // Only the main thread uses it from here on.
            ApplyQueue.main.enqueue {
                MainActor.assumeIsolated { shared = NetworkObserver(of: pointer, for: .shared) }
            }
        }
    }
}
