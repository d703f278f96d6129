import FoundationEssentials
import WebImageTestSupport

/// The servers that all tests of this target share; each test uses paths of its own.
enum SharedServers {
    /// With `small.png` and `large.png`: not pictures, but the sizes of some.
    static let nginx = Result {
        let server = try NGINXServer()
        try server.write(FaultServer.pattern(5_000), to: "small.png")
        try server.write(FaultServer.pattern(2_000_000), to: "large.png")
        return server
    }

    static let faults = Result { try FaultServer() }
}
