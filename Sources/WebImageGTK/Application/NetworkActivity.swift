public import CWebImageGTK

/// How many views are waiting for a server now.
///
/// ```swift
/// NetworkActivity.shared.bind(spinner)        // a GtkSpinner in the header bar turns while anything loads
/// ```
///
/// Caches and local files do not count.
@MainActor public final class NetworkActivity {
    /// That of all views.
    public static let shared = NetworkActivity()

    /// Called when it begins and when it ends.
    public var onChange: (@MainActor (_ isActive: Bool) -> Void)?

    private var spinners: [ObjectPointer] = []

    /// How many transfers there are.
    public internal(set) var count = 0 {
        didSet { if (count > 0) != (oldValue > 0) { isActiveDidChange() } }
    }

    /// Whether there are any.
    public var isActive: Bool { count > 0 }

    /// Has `spinner`, a `GtkSpinner`, turn while there is any, for the rest of its life.
    public func bind(_ spinner: UnsafeMutablePointer<GtkWidget>) {
        let pointer = ObjectPointer(spinner)
        guard !spinners.contains(pointer) else { return }
        spinners.append(pointer)
        pointer.onSignal("destroy") { [weak self] in self?.spinners.removeAll { $0 == pointer } }
        gtk_spinner_set_spinning(pointer.opaque, gboolean(isActive ? 1 : 0))
    }

    private func isActiveDidChange() {
        for spinner in spinners { gtk_spinner_set_spinning(spinner.opaque, gboolean(isActive ? 1 : 0)) }
        onChange?(isActive)
    }
}
