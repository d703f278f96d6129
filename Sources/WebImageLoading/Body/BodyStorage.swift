public import FoundationEssentials

/// Where the body of a load is kept while it arrives, and after.
public struct BodyStorage: Sendable, Hashable {
    /// The longest body kept in memory, in bytes; 8 MiB.
    ///
    /// Longer ones go to a temporary file without a name, and are handed over as `Data` mapped from it. Nearly every picture
    /// on the web is shorter, and 32 transfers at once then hold at most 256 MiB.
    public var memoryByteLimit: Int
    /// Where temporary files lie; ``defaultTemporaryDirectory``.
    public var temporaryDirectory: URL

    /// Makes one; the defaults suit most programs.
    public init(memoryByteLimit: Int = 8 << 20, temporaryDirectory: URL = Self.defaultTemporaryDirectory) {
        self.memoryByteLimit = memoryByteLimit
        self.temporaryDirectory = temporaryDirectory
    }

    /// `TMPDIR` where that is set, else `/var/tmp`: `/tmp` is in memory on many systems.
    public static var defaultTemporaryDirectory: URL {
        let path = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        return URL(filePath: path.isEmpty ? "/var/tmp" : path, directoryHint: .isDirectory)
    }
}
