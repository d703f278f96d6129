public import CWebImageGTK
public import WebImage

/// Has a `GtkSpinner`, as in a header bar, turn while something comes from the network.
///
/// ```swift
/// NetworkActivityIndicator(spinner)                   // while loads with .showNetworkActivity are under way
/// NetworkActivityIndicator(spinner, of: .shared)      // during any transfer of the program's downloaders
/// ```
///
/// The widget owns it. A load that is over in ``NetworkActivity/settlingTime`` turns nothing.
@MainActor public final class NetworkActivityIndicator {
    /// `nil` once it is being destroyed.
    private var spinner: ObjectPointer?
    private var reading: Task<Void, Never>?

    /// Makes one of `spinner`; the one it has already is replaced.
    ///
    /// - Parameter activity: what counts; by default, what managers count of loads with
    ///   ``WebImageOptions/showNetworkActivity``.
    @discardableResult
    public init(
        _ spinner: UnsafeMutablePointer<GtkWidget>,
        of activity: NetworkActivity = WebImageManager.Configuration.sharedNetworkActivity
    ) {
        MainLoop.install()
        let pointer = ObjectPointer(spinner)
        self.spinner = pointer
        Self.key.value(of: pointer)?.end()
        Self.key.set(self, on: pointer)
        pointer.onSignal("destroy") { [weak self] in self?.end() }
        reading = Task { [weak self] in
            for await isActive in activity.changes() { self?.show(isActive) }
        }
    }

    isolated deinit { reading?.cancel() }

    /// The one that `spinner` owns; `nil` for none.
    public static func attached(to spinner: UnsafeMutablePointer<GtkWidget>) -> NetworkActivityIndicator? {
        key.value(of: ObjectPointer(spinner))
    }

    private static let key = AssociationKey<NetworkActivityIndicator>("web-image-network-activity")

    private func show(_ isActive: Bool) {
        guard let spinner else { return }
        gtk_spinner_set_spinning(spinner.opaque, gboolean(isActive ? 1 : 0))
    }

    private func end() {
        spinner = nil
        reading?.cancel()
    }
}
