import FoundationEssentials
import Glibc
import WebImageGTK

/// What the user has chosen, kept in a JSON file in the user's configuration directory.
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
        /// The locations opened lately, newest first.
        var recentLocations: [String] = []
    }

    private(set) var values: Values
    private let file: URL?
    private var observers: [@MainActor (Values) -> Void] = []

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

    var memoryByteLimit: Int { values.memoryMebibytes << 20 }

    func observe(_ body: @escaping @MainActor (Values) -> Void) { observers.append(body) }

    /// Changes the values, stores them, and tells the observers.
    func change(_ body: (inout Values) -> Void) {
        let former = values
        body(&values)
        guard values != former else { return }
        save()
        for observer in observers { observer(values) }
    }

    /// Puts a location at the front of the recent ones.
    func noteLocation(_ location: String) {
        change { values in
            values.recentLocations.removeAll { $0 == location }
            values.recentLocations.insert(location, at: 0)
            values.recentLocations = Array(values.recentLocations.prefix(10))
        }
    }

    private func save() {
        guard let file else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(values) else { return }
        let folder = file.deletingLastPathComponent()
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try? data.write(to: file, options: .atomic)
    }
}
