import FoundationEssentials
import Glibc

/// A directory of its own for a test, gone when the test is.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "webimage-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file at a path below the directory.
    func write(_ text: String, to name: String) throws {
        let url = URL(filePath: path).appending(path: name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// The paths of all files below, relative to the directory.
    var files: [String] {
        guard let names = try? FileManager.default.subpathsOfDirectory(atPath: path) else { return [] }
        return names.filter { name in
            var isDirectory = false
            return FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isDirectory) && !isDirectory
        }
    }
}
