import Dispatch
import FoundationEssentials
import Glibc
import GTKObjects
import ProgramSupport
import WebImageGTK

/// The user's choices, kept in a JSON file in the user's configuration directory.
///
///     change ─► values ─► observers of what changed
///                  └─ 0.5 s without a further change, or the program's end ─► file, on another thread
@MainActor final class GallerySettings {
    struct Values: Codable, Equatable {
        /// The limit of the memory cache, in MiB.
        var memoryMebibytes = 160
        /// The limit of the disk cache, in MiB.
        var diskMebibytes = 1_024
        /// The limit of transfers at the same time, in total and for each host.
        var connections = 16
        var connectionsPerHost = 6
        /// The time for each image of the slide show, in seconds.
        var slideSeconds = 5
        /// The height of the grid's rows, in points.
        var rowHeight = 150.0
        /// The order of the images in folders.
        var order = PhotoOrder.name
        /// Whether the last images of the order come first.
        var isReversed = false
        /// Whether files and folders whose names begin with a dot are shown.
        var showsHidden = false
        /// Whether names and dates are below the images of the grid.
        var showsNames = false
        /// Whether the viewer shows the images around the current one.
        var showsFilmstrip = false
        /// The locations opened lately, newest first.
        var recentLocations: [String] = []
        /// The folder opened last, as ``SystemString/location`` has it; empty for none.
        var lastFolder = ""
        /// Whether the program begins with that folder.
        var opensLastFolder = true
        /// The folders to which files were copied or moved, newest first.
        var recentTargets: [String] = []
        /// Whether the folders are beside the images.
        var showsSidebar = false
        /// What is behind the image in the viewer.
        var background = PhotoBackground.system
        /// Whether the wheel shows the next image. It zooms otherwise, and always with Ctrl.
        var wheelTurnsPages = false
        /// The style of the whole program.
        var colorScheme = ColorSchemeChoice.system

        /// The limits of the caches, in bytes.
        var memoryByteLimit: Int { memoryMebibytes << 20 }
        var diskByteLimit: Int64 { Int64(diskMebibytes) << 20 }
    }

    /// The ranges of the values.
    enum Limits {
        static let memoryMebibytes = 16...4_096
        static let diskMebibytes = 64...65_536
        static let connections = 1...64
        static let connectionsPerHost = 1...32
        static let slideSeconds = 1...60
        static let rowHeight = 60.0...600.0
        static let recentLocationCount = 10
        static let recentTargetCount = 5
    }

    private(set) var values: Values
    private let file: URL?
    private var observers: [@MainActor (_ former: Values, _ values: Values) -> Void] = []
    private var saving: MainLoopCall?

    /// Serial, so that the newest values are written last.
    private static let queue = DispatchQueue(label: "gallery-settings")
    nonisolated static let saveDelayMilliseconds: UInt32 = 500

    /// - Parameter file: the file to read and write; `nil` keeps nothing.
    init(file: URL? = nil) {
        self.file = file
        let data = file.flatMap { try? Data(contentsOf: $0) }
        values = data.flatMap { try? JSONDecoder().decode(Values.self, from: $0) } ?? Values()
    }

    /// `gallery.json` in the folder `swift-web-image` of `$XDG_CONFIG_HOME`.
    static var userFile: URL {
        let environment = ProcessInfo.processInfo.environment
        let home =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? (environment["HOME"] ?? "/") + "/.config"
        return URL(filePath: home).appending(path: "swift-web-image/gallery.json")
    }

    /// Calls `body` after each change of a setting.
    func observe<Value: Equatable>(
        _ setting: KeyPath<Values, Value>, _ body: @escaping @MainActor (Value) -> Void
    ) {
        observers.append { former, values in
            if former[keyPath: setting] != values[keyPath: setting] { body(values[keyPath: setting]) }
        }
    }

    /// Changes the values within their ranges, and tells the observers. They are stored soon.
    func change(_ body: (inout Values) -> Void) {
        let former = values
        body(&values)
        values.clamp()
        guard values != former else { return }
        if file != nil {
            saving = .after(milliseconds: Self.saveDelayMilliseconds) { [weak self] in
                self?.saving = nil
                self?.save()
            }
        }
        for observer in observers { observer(former, values) }
    }

    /// Puts a location at the front of the recent ones, without a password. Images that are their own URL are left out.
    func noteLocation(_ location: String) {
        let text = location.trimmed
        let url = URL.remote(text)
        guard url?.isData != true else { return }
        let location = url?.user() == nil ? text : url?.displayText ?? text
        change { values in
            values.recentLocations.removeAll { $0 == location }
            values.recentLocations.insert(location, at: 0)
        }
    }

    /// Notes the folder that was opened last.
    func noteFolder(_ folder: SystemString) { change { $0.lastFolder = folder.withoutSlashAtEnd.location } }

    /// Puts a folder at the front of those to which files were copied or moved.
    func noteTarget(_ folder: SystemString) {
        let location = folder.withoutSlashAtEnd.location
        change { values in
            values.recentTargets.removeAll { $0 == location }
            values.recentTargets.insert(location, at: 0)
        }
    }

    // MARK: File

    /// Stores a change that was not stored yet. Blocks until the file is written; called at the program's end.
    func flush() {
        if saving != nil {
            saving = nil
            save()
        }
        let end = DispatchSemaphore(value: 0)
        Self.queue.async { end.signal() }
        end.wait()
    }

    private func save() {
        guard let file else { return }
        Self.queue.async { [values] in
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            guard let data = try? encoder.encode(values) else { return }
            let folder = file.deletingLastPathComponent()
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try? data.write(to: file, options: .atomic)
        }
    }
}

extension GallerySettings.Values {
    /// A value that is missing or has another type is the default.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func read<Value: Decodable>(_ key: CodingKeys, _ value: inout Value) {
            if let stored = try? container.decode(Value.self, forKey: key) { value = stored }
        }
        self.init()
        read(.memoryMebibytes, &memoryMebibytes)
        read(.diskMebibytes, &diskMebibytes)
        read(.connections, &connections)
        read(.connectionsPerHost, &connectionsPerHost)
        read(.slideSeconds, &slideSeconds)
        read(.rowHeight, &rowHeight)
        read(.order, &order)
        read(.showsNames, &showsNames)
        read(.showsFilmstrip, &showsFilmstrip)
        read(.recentLocations, &recentLocations)
        read(.isReversed, &isReversed)
        read(.showsHidden, &showsHidden)
        read(.lastFolder, &lastFolder)
        read(.opensLastFolder, &opensLastFolder)
        read(.recentTargets, &recentTargets)
        read(.showsSidebar, &showsSidebar)
        read(.background, &background)
        read(.wheelTurnsPages, &wheelTurnsPages)
        read(.colorScheme, &colorScheme)
        clamp()
    }

    fileprivate mutating func clamp() {
        typealias Limits = GallerySettings.Limits
        memoryMebibytes.clamp(to: Limits.memoryMebibytes)
        diskMebibytes.clamp(to: Limits.diskMebibytes)
        connections.clamp(to: Limits.connections)
        connectionsPerHost.clamp(to: Limits.connectionsPerHost)
        slideSeconds.clamp(to: Limits.slideSeconds)
        rowHeight.clamp(to: Limits.rowHeight)
        recentLocations = Array(recentLocations.prefix(Limits.recentLocationCount))
        recentTargets = Array(recentTargets.prefix(Limits.recentTargetCount))
    }
}

extension Comparable {
    fileprivate mutating func clamp(to range: ClosedRange<Self>) {
        self = min(max(self, range.lowerBound), range.upperBound)
    }
}
