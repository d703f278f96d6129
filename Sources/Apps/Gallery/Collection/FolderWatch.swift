import CWebImageGTK
import FoundationEssentials
import GTKObjects
import ProgramSupport
import WebImageGTK

/// Reports changes of the files in folders, until it is released.
@MainActor final class FolderWatch {
    /// By the path of their folder.
    private var monitors: [SystemString: ObjectPointer] = [:]
    /// Those that are watched.
    var folders: Set<SystemString> { Set(monitors.keys) }
    /// How many folders are left out.
    private(set) var leftOutCount = 0
    private var changed: Set<SystemString> = []
    private var pause: MainLoopCall?
    /// Called with the paths of files whose content has changed, and when any have appeared, left or got another name. Changes shortly
    /// after each other are reported together.
    private let onChange: @MainActor (_ changed: Set<SystemString>) -> Void

    /// An import or a copy makes many changes: 0.3 s without another one end them.
    private static let pauseMilliseconds: UInt32 = 300
    /// The kernel limits the watches of a user, to 8,192 on small machines.
    static let folderLimit = 1_024

    init(onChange: @escaping @MainActor (_ changed: Set<SystemString>) -> Void) { self.onChange = onChange }

    isolated deinit { for monitor in monitors.values { Self.end(monitor) } }

    /// Watches these folders and no others, the first by their paths if there are too many. Those that are watched already stay so.
    ///
    /// - Returns: whether folders are watched now that were not before.
    func watch(_ folders: Set<SystemString>) -> Bool {
        for (folder, monitor) in monitors where !folders.contains(folder) {
            Self.end(monitor)
            monitors[folder] = nil
        }
        let formerCount = monitors.count
        let new = folders.subtracting(monitors.keys)
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.prefix(max(0, Self.folderLimit - formerCount))
        for folder in new { monitors[folder] = makeMonitor(of: folder) }
        leftOutCount = folders.count - monitors.count
        return monitors.count > formerCount
    }

    private func makeMonitor(of folder: SystemString) -> ObjectPointer? {
        let file = folder.withCString { g_file_new_for_path($0) }
        defer { g_object_unref(UnsafeMutableRawPointer(file)) }
        guard let monitor = g_file_monitor_directory(file, G_FILE_MONITOR_WATCH_MOVES, nil, nil) else { return nil }
        let pointer = ObjectPointer(monitor)
        pointer.onFileChange { [weak self] in self?.note($0) }
        return pointer
    }

    private static func end(_ monitor: ObjectPointer) {
        g_file_monitor_cancel(monitor.as())
        g_object_unref(monitor.address)
    }

    private func note(_ event: FileEvent) {
        switch event.kind {
        case G_FILE_MONITOR_EVENT_CHANGES_DONE_HINT, G_FILE_MONITOR_EVENT_MOVED_IN: changed.insert(event.path)
        // Programs save a file under another name first, which then takes the place of the former file.
        case G_FILE_MONITOR_EVENT_RENAMED: changed.formUnion(event.otherPath.map { [$0] } ?? [])
        case G_FILE_MONITOR_EVENT_CREATED, G_FILE_MONITOR_EVENT_DELETED, G_FILE_MONITOR_EVENT_MOVED_OUT: break
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

/// An event of a `GFileMonitor`.
private struct FileEvent: Sendable {
    let path: SystemString
    /// The new path of a file with another name.
    let otherPath: SystemString?
    let kind: GFileMonitorEvent

    init(_ file: OpaquePointer?, _ other: OpaquePointer?, _ kind: GFileMonitorEvent) {
        func path(_ file: OpaquePointer?) -> SystemString? {
            guard let file, let path = g_file_get_path(file) else { return nil }
            defer { g_free(path) }
            return SystemString(cString: path)
        }
        (self.path, otherPath, self.kind) = (path(file) ?? SystemString(""), path(other), kind)
    }
}

@MainActor extension ObjectPointer {
    /// Calls `body` when a `GFileMonitor` emits `changed`.
    fileprivate func onFileChange(_ body: @escaping @MainActor (FileEvent) -> Void) {
        let trampoline: @convention(c) (gpointer, OpaquePointer?, OpaquePointer?, GFileMonitorEvent, gpointer) -> Void =
            { _, file, other, kind, data in
                let event = FileEvent(file, other, kind)
                SignalHandler<(FileEvent) -> Void>.with(data) { $0(event) }
            }
        connect("changed", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }
}
