public import FoundationEssentials

/// Where the bodies of loads are stored.
public struct BodyStorage: Sendable, Hashable {
    /// The longest body stored in memory, in bytes; 8 MiB by default.
    ///
    /// Longer bodies go to a temporary file without a name, and are returned as `Data` mapped from it. Nearly all
    /// images on the web are shorter. With this limit 32 concurrent transfers use at most 256 MiB.
    public var memoryByteLimit: Int
    /// The directory of temporary files; ``defaultTemporaryDirectory`` by default.
    public var temporaryDirectory: URL

    /// Creates a configuration; the defaults suit most programs.
    public init(memoryByteLimit: Int = 8 << 20, temporaryDirectory: URL = Self.defaultTemporaryDirectory) {
        self.memoryByteLimit = memoryByteLimit
        self.temporaryDirectory = temporaryDirectory
    }

    /// `TMPDIR` if it is set, otherwise `/var/tmp`, since `/tmp` is in memory on many systems.
    public static var defaultTemporaryDirectory: URL {
        let path = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        return URL(filePath: path.isEmpty ? "/var/tmp" : path, directoryHint: .isDirectory)
    }
}
