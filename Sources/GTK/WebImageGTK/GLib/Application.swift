public import CWebImageGTK
public import WebImage

/// Trims caches when memory is low or the last window is hidden; see
/// ``MainLoop/observe(_:managers:onForegroundChange:)``.
@MainActor package final class ApplicationObserver {
    static let key = AssociationKey<ApplicationObserver>("web-image-application-observer")

    private let managers: [WebImageManager]
    /// Not retained, because the application owns this observer.
    private let application: ObjectPointer
    private let memoryMonitor: ObjectReference?
    private var memoryConnection: SignalConnection?
    private var backgroundCall: MainLoopCall?

    /// Whether a window is mapped.
    package private(set) var isInForeground = true
    /// Called after ``isInForeground`` has changed.
    package var onChange: (@MainActor (_ isInForeground: Bool) -> Void)?

    package init(of application: UnsafeMutableRawPointer, managers: [WebImageManager]) {
        self.managers = managers
        self.application = ObjectPointer(application)
        memoryMonitor = g_memory_monitor_dup_default().map { ObjectReference(owning: ObjectPointer($0)) }
        memoryConnection = memoryMonitor?.pointer.onSignal("low-memory-warning") { [weak self] (level: UInt32) in
            self?.memoryIsLow(level: Int(level))
        }
        self.application.onSignal("window-added") { [weak self] (window: ObjectPointer) in
            self?.watch(window)
        }
        for window in windows { watch(window) }
    }

    isolated deinit { if let memoryConnection { memoryMonitor?.pointer.disconnect(memoryConnection) } }

    private var windows: [ObjectPointer] {
        let application = application.address.assumingMemoryBound(to: GtkApplication.self)
        var windows: [ObjectPointer] = []
        var next = gtk_application_get_windows(application)
        while let entry = next {
            if let window = entry.pointee.data { windows.append(ObjectPointer(window)) }
            next = entry.pointee.next
        }
        return windows
    }

    private func watch(_ window: ObjectPointer) {
        window.onSignal("map") { [weak self] in self?.windowsDidChange() }
        window.onSignal("unmap") { [weak self] in self?.windowsDidChange() }
        windowsDidChange()
    }

    /// Updates when the main loop is idle, because another window may be mapped before then.
    private func windowsDidChange() {
        backgroundCall = MainLoopCall.whenIdle { [weak self] in self?.update() }
    }

    private func update() {
        let isInForeground = windows.contains { gtk_widget_get_mapped($0.widget) != 0 }
        guard isInForeground != self.isInForeground else { return }
        self.isInForeground = isInForeground
        if !isInForeground {
            for cache in memoryCaches { cache.didEnterBackground() }
            FramePools.shared.removeAll()
        }
        onChange?(isInForeground)
    }

    /// - Parameter level: GLib's level: 50 is low, 100 medium, 255 critical.
    func memoryIsLow(level: Int) {
        for cache in memoryCaches {
            if level >= 255 { cache.removeAll() } else { cache.trim(toCost: cache.totalCost / 2) }
        }
        FramePools.shared.removeAll()
    }

    private var memoryCaches: [MemoryCache<ImageCacheKey, Image>] {
        managers.flatMap { $0.configuration.cache.memoryCaches }
    }
}

/// Keeps the program's `GApplication` running, also without a window, such as during a load with
/// ``WebImage/WebImageOptions/continueInBackground``.
@MainActor package final class ApplicationHold {
    private var application: ObjectReference?

    /// Makes managers without their own hook hold the application.
    static func install() {
        let mainThread = UInt(bitPattern: g_thread_self())
        WebImageManager.Configuration.standardBackgroundTask.withLock { hook in
            hook = { _ in
                let hold = ApplicationHold()
                // GIO counts holds without a lock. On the main thread it takes effect at once: the application may be
                // about to end.
                if UInt(bitPattern: g_thread_self()) == mainThread {
                    MainActor.assumeIsolated { hold.begin() }
                } else {
                    ApplyQueue.main.enqueue { MainActor.assumeIsolated { hold.begin() } }
                }
                // The end is queued, so that it never runs before the start.
                return { ApplyQueue.main.enqueue { MainActor.assumeIsolated { hold.end() } } }
            }
        }
    }

    package nonisolated init() {}

    /// Holds and retains the application; does nothing if there is none.
    package func begin() {
        application = g_application_get_default().map { ObjectReference(retaining: ObjectPointer($0)) }
        if let application { g_application_hold(application.asApplication) }
    }

    package func end() {
        if let application { g_application_release(application.asApplication) }
        application = nil
    }
}

extension ObjectReference {
    fileprivate var asApplication: UnsafeMutablePointer<GApplication> {
        pointer.address.assumingMemoryBound(to: GApplication.self)
    }
}

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
    ) { NetworkActivityIndicator(spinner, of: activity ?? WebImageManager.Configuration.sharedNetworkActivity) }
}

/// Turns a `GtkSpinner`, which owns it, during network activity.
@MainActor package final class NetworkActivityIndicator {
    /// The spinner; `nil` once it is being destroyed.
    private var spinner: ObjectPointer?
    private var reading: Task<Void, Never>?

    @discardableResult package init(_ spinner: UnsafeMutablePointer<GtkWidget>, of activity: NetworkActivity) {
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
    package static func attached(to spinner: UnsafeMutablePointer<GtkWidget>) -> NetworkActivityIndicator? {
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

extension ImageCaching {
    /// The memory caches of the library that it consists of.
    fileprivate var memoryCaches: [MemoryCache<ImageCacheKey, Image>] {
        switch self {
        case let cache as ImageCache: [cache.memory]
        case let group as ImageCacheGroup: group.caches.flatMap(\.memoryCaches)
        default: []
        }
    }
}
