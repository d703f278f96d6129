import CWebImageGTK
import Foundation
import WebImageTestSupport

/// A home directory for the process of the tests and the programs that they start: nothing of the user's is read, and nothing is left in
/// the user's own, neither settings nor caches nor files in the trash.
enum TestHome {
    /// The path, which exists until the process ends.
    static let directory: String = {
        let environment = ProcessInfo.processInfo.environment
        let directory = FileManager.default.temporaryDirectory.path + "/webimage-home-\(UUID().uuidString)"
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch { fatalError("no home directory for tests: \(error)") }
        // Where the X server's key is by default.
        if environment["XAUTHORITY"] == nil, let former { setenv("XAUTHORITY", former + "/.Xauthority", 1) }
        setenv("HOME", directory, 1)
        for name in ["CACHE", "CONFIG", "DATA", "STATE"] { unsetenv("XDG_\(name)_HOME") }
        // GLib reads the variables once.
        let known = g_get_home_dir().map { String(cString: $0) } ?? ""
        guard known == directory else { fatalError("GLib already knows the home directory \(known)") }
        atexit { TemporaryDirectory.remove(TestHome.directory) }
        return directory
    }()

    /// The user's home directory, for compilers; `nil` if the environment has none.
    static let former = ProcessInfo.processInfo.environment["HOME"]
}
