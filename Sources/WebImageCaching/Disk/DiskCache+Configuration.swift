public import FoundationEssentials
internal import Glibc
public import WebImageCore

extension DiskCache {
    /// Where a disk cache is and how much it keeps.
    public struct Configuration: Sendable {
        /// The directory, made with mode 0700 when it is missing. By default
        /// ``defaultDirectory(application:)``.
        public var directory: URL
        /// The most bytes that all values may take together; when a store exceeds it, entries go in ``evictionOrder``
        /// until 90 % of it are left. `nil`, the default, is 10 % of the free space (with what the cache holds already), at
        /// least 64 MiB and at most 1 GiB.
        ///
        /// The files may take more, as removed values leave gaps: at most twice as much and 32 MiB.
        public var sizeLimit: Int64?
        /// The most entries; when a store exceeds it, entries go in ``evictionOrder`` until 90 % of it are left. `nil`, the
        /// default, is no limit.
        public var countLimit: Int?
        /// How long after its last access an entry is kept, in seconds; 30 days by default. Where ``evictionOrder`` goes by
        /// another time, it counts from that one. No look-up finds an older one, and its space is given back within a
        /// minute, or with the next store. A time in the future, from before the clock went back, counts as now.
        public var ageLimit: Double = 30 * 86_400
        /// The bytes of the file system that the cache leaves free; 256 MiB by default. Below it the first entries in
        /// ``evictionOrder`` go, and then nothing more is stored.
        public var freeSpaceFloor: Int64 = 256 << 20
        /// Which entries go first, and by what their age counts; by default those that were not used for the longest time.
        public var evictionOrder = EvictionOrder.access
        /// When entries stop being valid that are stored without an expiration of their own; by default never.
        public var expiration = CacheExpiration.never
        /// What a use does to the expiration of an entry; by default nothing.
        public var expirationExtension = ExpirationExtension.none
        /// Values of more bytes than this are kept in files of their own, the others together in larger files, segments;
        /// 256 KiB by default, at most 8 MiB.
        ///
        /// Measured on ext4 and tmpfs, a segment is written 2 to 30 times faster than files up to 100 KB, and read in two
        /// thirds of the time; at 256 KiB there is little between them, and the space of a removed file is free at once.
        public var fileThreshold: Int = 256 << 10
        /// Whether each value is compared with its checksum when it is loaded; `true` by default.
        ///
        /// It costs 0.07 µs a KiB (libdeflate's CRC-32). Checksums are always stored, and values from before the machine
        /// started last are always compared, since a power cut may have taken their bytes. Bytes that differ count as not
        /// found, and their entry goes.
        public var usesChecksums = true
        /// Whether the directory may belong to another user than that of the process or root; `false` by default, as who
        /// owns a directory can put anything into it. For volumes that are shared on purpose.
        public var allowsForeignDirectory = false
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

    /// Which entries go first when something has to go.
    public enum EvictionOrder: String, Sendable, CaseIterable {
        /// Those that were not used for the longest time.
        case access
        /// Those whose bytes were stored first.
        case creation
        /// Those that were not stored or updated for the longest time.
        case modification

        /// The column of the index that has the time.
        var column: String {
            switch self {
            case .access: "accessed"
            case .creation: "created"
            case .modification: "modified"
            }
        }
    }
}
