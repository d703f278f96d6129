import FoundationEssentials
import WebImageTestSupport

/// The servers that all tests of this target share; each test uses paths of its own.
enum SharedServers {
    static let nginx = Result { try NGINXServer(root: files.get().path) }
    static let faults = Result { try FaultServer() }

    /// `small.png` to `large.png`: not pictures, but the sizes of some.
    static let files = Result {
        let directory = try TemporaryDirectory()
        try directory.write(FaultServer.pattern(5_000), to: "small.png")
        try directory.write(FaultServer.pattern(30_000), to: "medium.png")
        try directory.write(FaultServer.pattern(2_000_000), to: "large.png")
        return directory
    }
}
