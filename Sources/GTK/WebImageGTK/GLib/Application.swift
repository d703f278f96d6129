internal import CWebImageGTK
internal import GTKObjects
internal import WebImage

/// Trims caches when memory is low or the last window is hidden; see
/// ``MainLoop/observe(_:managers:onForegroundChange:)``.
@MainActor final class ApplicationObserver {
    static let key = AssociationKey<ApplicationObserver>("web-image-application-observer")

    private let managers: [WebImageManager]
    /// Not retained, because the application owns this observer.
    private let application: ObjectPointer
    private let memoryMonitor: ObjectReference?
    private var memoryConnection: SignalConnection?
    private var backgroundCall: MainLoopCall?

    /// Whether a window is mapped.
    private(set) var isInForeground = true
    /// Called after ``isInForeground`` has changed.
    var onChange: (@MainActor (_ isInForeground: Bool) -> Void)?

    init(of application: UnsafeMutableRawPointer, managers: [WebImageManager]) {
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
@MainActor final class ApplicationHold {
    private var application: ObjectReference?

    /// Makes managers without their own hook hold the application.
    static func install() {
        let mainThread = UInt(bitPattern: g_thread_self())
        standardBackgroundTask.withLock { hook in
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

    nonisolated init() {}

    /// Holds and retains the application; does nothing if there is none.
    func begin() {
        application = g_application_get_default().map { ObjectReference(retaining: ObjectPointer($0)) }
        if let application { g_application_hold(application.asApplication) }
    }

    func end() {
        if let application { g_application_release(application.asApplication) }
        application = nil
    }
}

extension ObjectReference {
    fileprivate var asApplication: UnsafeMutablePointer<GApplication> {
        pointer.address.assumingMemoryBound(to: GApplication.self)
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
