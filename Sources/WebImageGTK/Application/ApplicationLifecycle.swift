import CWebImageGTK
public import WebImage

/// Tells caches what happens to the program: memory gets short, the last window is hidden.
///
/// ```swift
/// let lifecycle = ApplicationLifecycle(of: application)       // in `activate`; keep it
/// ```
///
/// - When the desktop's `GMemoryMonitor` says that memory is low, the caches give up half, and when it is critical,
///   everything. The kernel is heard without this (`SystemMemoryPressure`).
/// - When no window is mapped any more, memory caches are emptied as their configuration says
///   (`MemoryCache.didEnterBackground()`), and frames of animations nobody sees are let go.
@MainActor public final class ApplicationLifecycle {
    private let managers: [WebImageManager]
    private let application: ObjectReference
    private var windowConnection: SignalConnection?
    private let memoryMonitor: ObjectReference?
    private var memoryConnection: SignalConnection?
    private var backgroundCall: MainLoopCall?

    /// Whether a window is mapped.
    public private(set) var isInForeground = true
    /// Called after ``isInForeground`` has changed.
    public var onChange: (@MainActor (_ isInForeground: Bool) -> Void)?

    /// Begins to watch.
    ///
    /// - Parameters:
    ///   - application: a `GtkApplication`; windows of it that come later count as well.
    ///   - managers: whose caches to tell.
    public init(of application: UnsafeMutableRawPointer, managers: [WebImageManager] = [.shared]) {
        self.managers = managers
        let pointer = ObjectPointer(application)
        self.application = ObjectReference(retaining: pointer)
        memoryMonitor = g_memory_monitor_dup_default().map { ObjectReference(owning: ObjectPointer($0)) }
        memoryConnection = memoryMonitor?.pointer.onSignal("low-memory-warning") { [weak self] (level: UInt32) in
            self?.memoryIsLow(level: Int(level))
        }
        windowConnection = pointer.onSignal("window-added") { [weak self] (window: ObjectPointer) in
            self?.watch(window)
        }
        for window in windows { watch(window) }
    }

    isolated deinit {
        if let windowConnection { application.pointer.disconnect(windowConnection) }
        if let memoryConnection { memoryMonitor?.pointer.disconnect(memoryConnection) }
    }

    private var windows: [ObjectPointer] {
        let application = application.pointer.address.assumingMemoryBound(to: GtkApplication.self)
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

    /// Later: one window may follow another.
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

    /// - Parameter level: GLib's, from 0 to 255: 50 is low, 100 medium, 255 critical.
    func memoryIsLow(level: Int) {
        for cache in memoryCaches {
            if level >= 255 { cache.removeAll() } else { cache.trim(toCost: cache.totalCost / 2) }
        }
        FramePools.shared.removeAll()
    }

    private var memoryCaches: [MemoryCache<ImageCacheKey, Image>] { managers.compactMap { ($0.configuration.cache as? ImageCache)?.memory } }
}
