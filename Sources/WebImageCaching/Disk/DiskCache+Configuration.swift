public import FoundationEssentials
internal import Glibc
public import WebImageCore

extension DiskCache {
    /// Where a disk cache is and how much it keeps.
    public struct Configuration: Sendable {
        /// The directory, made with mode 0700 when it is missing. By default
        /// ``defaultDirectory(application:)``.
        public var directory: URL
        /// The most bytes that all values may take together; when a store exceeds it, the least recently used go until
        /// 90 % of it are left. `nil`, the default, is 10 % of the free space (with what the cache holds already), at
        /// least 64 MiB and at most 1 GiB.
        public var sizeLimit: Int64?
        /// How long after its last access an entry is kept, in seconds; 30 days by default. Applied whenever the cache
        /// is trimmed.
        public var ageLimit: Double = 30 * 86_400
        /// The bytes of the file system that the cache leaves free; 256 MiB by default. Below it the oldest entries go,
        /// and then nothing more is stored.
        public var freeSpaceFloor: Int64 = 256 << 20
        /// Values up to this many bytes are kept in the index, larger ones in files of their own; 20 KiB by default, at
        /// most 1 MiB.
        ///
        /// Measured on ext4 and tmpfs, both are read and written equally fast at 16 to 20 KB. At 1 KB the index takes a
        /// third less time to read and a fraction of the time to write; at 128 KB it takes half as long again.
        public var inlineThreshold: Int = 20_480
        static let largestInlineThreshold = 1 << 20
        /// Told, on a thread of the disk pool, why the cache stands aside: once for each cause. By default it prints
        /// a line to standard error.
        public var onFailure: @Sendable (WebImageError) -> Void = { error in
            var line = "webimage: \(error)\n"
            line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }

        /// Makes the defaults, for a directory of one's own or the default one.
        public init(directory: URL = Self.defaultDirectory()) { self.directory = directory }

        /// `$XDG_CACHE_HOME/<application>/images`, or `~/.cache/<application>/images` where that variable is not set to
        /// an absolute path.
        ///
        /// - Parameter application: by default the name of the program's file.
        public static func defaultDirectory(application: String? = nil) -> URL {
            let name = application ?? CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
            return cacheHome.appending(path: name ?? "webimage").appending(path: "images")
        }

        private static var cacheHome: URL {
            if let path = environment("XDG_CACHE_HOME"), path.hasPrefix("/") { return URL(filePath: path) }
            return URL(filePath: environment("HOME") ?? homeOfUser ?? "/tmp").appending(path: ".cache")
        }

        private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

        private static var homeOfUser: String? {
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            var buffer = [CChar](repeating: 0, count: 4_096)
            getpwuid_r(getuid(), &entry, &buffer, buffer.count, &found)
            return found.flatMap { $0.pointee.pw_dir }.map { String(cString: $0) }
        }
    }

    /// What is known about a stored value.
    public struct Entry: Sendable, Hashable {
        let id: Int64
        /// What it is found by.
        public let key: String
        /// Its length.
        public let byteCount: Int
        /// When it was stored.
        public let created: Date
        /// When it was stored or loaded last; accesses of the last moments may be missing until ``DiskCache/flush()``.
        public let lastAccess: Date
    }
}
