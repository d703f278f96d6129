public import CWebImageGTK
internal import GTKObjects
public import WebImage

extension ImageIndicator {
    /// Makes a `GtkSpinner`, such as one in a header bar, turn during network activity.
    ///
    /// ```swift
    /// let spinner: UnsafeMutablePointer<GtkWidget> = gtk_spinner_new()
    /// ImageIndicator.showNetworkActivity(in: spinner)                   // during loads with .showNetworkActivity
    /// ImageIndicator.showNetworkActivity(in: spinner, of: .shared)      // during all transfers of the program's downloaders
    /// ```
    ///
    /// A load that ends within 33 ms does not turn the spinner.
    ///
    /// - Parameters:
    ///   - spinner: a `GtkSpinner`. A later call for the same spinner replaces the activity.
    ///   - activity: the counter; by default, that of loads with ``WebImage/WebImageOptions/showNetworkActivity``.
    public static func showNetworkActivity(
        in spinner: UnsafeMutablePointer<GtkWidget>,
        of activity: NetworkActivity? = nil
    ) { NetworkActivityIndicator(spinner, of: activity ?? WebImageManager.Configuration().networkActivity) }
}

/// Turns a `GtkSpinner`, which owns it, during network activity.
@MainActor final class NetworkActivityIndicator {
    /// The spinner; `nil` once it is being destroyed.
    private var spinner: ObjectPointer?
    private var reading: Task<Void, Never>?

    @discardableResult init(_ spinner: UnsafeMutablePointer<GtkWidget>, of activity: NetworkActivity) {
        MainLoop.install()
        let pointer = ObjectPointer(spinner)
        self.spinner = pointer
        gtk_widget_add_css_class(spinner, "web-image-network-activity")
        Self.addStyle(to: gtk_widget_get_display(spinner))
        Self.key.value(of: pointer)?.end()
        Self.key.set(self, on: pointer)
        pointer.onSignal("destroy") { [weak self] in self?.end() }
        reading = Task { [weak self] in
            for await isActive in activity.changes() { self?.show(isActive) }
        }
    }

    isolated deinit { reading?.cancel() }

    /// Returns the indicator that `spinner` owns; `nil` if there is none.
    static func attached(to spinner: UnsafeMutablePointer<GtkWidget>) -> NetworkActivityIndicator? {
        key.value(of: ObjectPointer(spinner))
    }

    private static let key = AssociationKey<NetworkActivityIndicator>("web-image-network-activity")

    /// Makes the spinner turn in twelve steps a second instead of with each frame: 2.5 % of a core instead of 4.1 %
    /// under cairo.
    private static func addStyle(to display: OpaquePointer?) {
        guard !hasStyle, let provider = gtk_css_provider_new() else { return }
        hasStyle = true
        web_image_css_provider_load(
            provider, ".web-image-network-activity:checked { animation-timing-function: steps(12); }")
        gtk_style_context_add_provider_for_display(
            display, ObjectPointer(provider).opaque, guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
        g_object_unref(provider)
    }

    private static var hasStyle = false

    private func show(_ isActive: Bool) {
        guard let spinner else { return }
        gtk_spinner_set_spinning(spinner.opaque, gboolean(isActive ? 1 : 0))
    }

    private func end() {
        spinner = nil
        reading?.cancel()
    }
}
