import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// Reports changes of the files in folders, until it is released.
@MainActor final class FolderWatch {
    private var monitors: [ObjectPointer] = []
    private var changed: Set<String> = []
    private var pause: MainLoopCall?
    /// Called with the paths of files whose content has changed, and when any have appeared, left or got another name. Changes shortly
    /// after each other are reported together.
    private let onChange: @MainActor (_ changed: Set<String>) -> Void

    /// An import or a copy makes many changes: 0.3 s without another one end them.
    private static let pauseMilliseconds: UInt32 = 300
    /// The kernel limits the watches of a user.
    private static let folderLimit = 256

    init(_ folders: Set<String>, onChange: @escaping @MainActor (_ changed: Set<String>) -> Void) {
        self.onChange = onChange
        for folder in folders.sorted().prefix(Self.folderLimit) { watch(folder) }
    }

    isolated deinit {
        for monitor in monitors {
            g_file_monitor_cancel(monitor.as())
            g_object_unref(monitor.address)
        }
    }

    private func watch(_ folder: String) {
        let file = g_file_new_for_path(folder)
        defer { g_object_unref(UnsafeMutableRawPointer(file)) }
        guard let monitor = g_file_monitor_directory(file, G_FILE_MONITOR_WATCH_MOVES, nil, nil) else { return }
        let pointer = ObjectPointer(monitor)
        pointer.onFileChange { [weak self] path, event in self?.note(path, event) }
        monitors.append(pointer)
    }

    private func note(_ path: String, _ event: GFileMonitorEvent) {
        switch event {
        case G_FILE_MONITOR_EVENT_CHANGES_DONE_HINT: changed.insert(path)
        case G_FILE_MONITOR_EVENT_CREATED, G_FILE_MONITOR_EVENT_DELETED, G_FILE_MONITOR_EVENT_RENAMED,
            G_FILE_MONITOR_EVENT_MOVED_IN, G_FILE_MONITOR_EVENT_MOVED_OUT:
            break
        default: return
        }
        pause = .after(milliseconds: Self.pauseMilliseconds) { [weak self] in
            guard let self else { return }
            let changed = changed
            (pause, self.changed) = (nil, [])
            onChange(changed)
        }
    }
}

@MainActor extension ObjectPointer {
    /// Calls `body` when a `GFileMonitor` emits `changed`, with the path of the file.
    fileprivate func onFileChange(_ body: @escaping @MainActor (_ path: String, _ event: GFileMonitorEvent) -> Void) {
        let trampoline: @convention(c) (gpointer, OpaquePointer?, OpaquePointer?, GFileMonitorEvent, gpointer) -> Void =
            {
                _, file, _, event, data in
                let path = g_file_get_path(file)
                defer { g_free(path) }
                let text = path.map { String(cString: $0) } ?? ""
                SignalHandler<(String, GFileMonitorEvent) -> Void>.with(data) { $0(text, event) }
            }
        connect("changed", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }
}
