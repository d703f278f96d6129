public import FoundationEssentials
internal import Glibc
public import WebImageCore

extension DiskCache {
    /// Where a disk cache stores its files, and how much it keeps.
    ///
    /// ```swift
    /// var configuration = DiskCache.Configuration(directory: folder)
    /// configuration.sizeLimit = 500 << 20
    /// configuration.ageLimit = .seconds(7 * 86_400)
    /// let cache = DiskCache(configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The directory; created with mode 0700 if it is missing. By default ``defaultDirectory(application:)``.
        public var directory: URL
        /// The maximum size of all files of the cache, in bytes; when a store exceeds it, entries are removed in ``evictionOrder``
        /// until 90 % of it are left. `nil`, the default, is 10 % of the free space (including what the cache already
        /// holds), at least 64 MiB and at most 1 GiB. ``DiskCache/sizeLimit`` changes it later, as other properties of the cache do for
        /// the other limits.
        ///
        /// The index and the gaps that removed values leave count too, but not below 2 MiB. While values are written, the files may
        /// be larger by a batch of at most 16 MiB.
        public var sizeLimit: Int64?
        /// The maximum number of entries; when a store exceeds it, entries are removed in ``evictionOrder`` until 90 %
        /// of it are left. `nil`, the default, is no limit.
        public var countLimit: Int?
        /// How long after its last access an entry is kept; 30 days by default, `nil` for no limit. With another
        /// ``evictionOrder``, the time of that order counts. Look-ups never return older entries; their space is freed
        /// within ``trimInterval``, or with the next store. A time in the future, from before the clock was set back, counts as
        /// now.
        public var ageLimit: Duration? = .seconds(30 * 86_400)
        /// The free space, in bytes, that the cache leaves on the file system; 256 MiB by default. Below it, entries
        /// are removed in ``evictionOrder``; if that is not enough, nothing is stored.
        public var freeSpaceFloor: Int64 = 256 << 20
        /// Which entries are removed first, and from which time their age counts; by default the least recently used.
        public var evictionOrder = EvictionOrder.access
        /// When entries expire that are stored without an expiration; by default never.
        public var expiration = CacheExpiration.never
        /// The effect of a use on the expiration of an entry; none by default.
        public var expirationExtension = ExpirationExtension.none
        /// Larger values, in bytes, are stored in separate files, smaller ones together in segments; 256 KiB by
        /// default, at most 8 MiB.
        ///
        /// Measured on ext4 and tmpfs, a segment is written 2 to 30 times faster than files up to 100 KB, and read in
        /// two thirds of the time; at 256 KiB they differ little, and removing a file frees its space at once.
        public var fileThreshold: Int = 256 << 10
        /// How often entries that have expired or are too old are removed while the cache is in use; 60 seconds by default, and a millisecond at
        /// least. With `nil`, their space is freed by the next store or ``DiskCache/trim(toSize:toCount:toAge:)``.
        public var trimInterval: Duration? = .seconds(60)
        /// How long a ``CachedFile`` stays after its last use; 7 days by default. Older files are removed when another is written, by
        /// ``DiskCache/trim(toSize:toCount:toAge:)``, and within an hour while the cache is in use, but none that is held.
        public var cachedFileAgeLimit: Duration = .seconds(7 * 86_400)
        /// The maximum size, in bytes, of all ``CachedFile``s together; 256 MiB by default. When another is written, the least recently
        /// used ones beyond this are removed, but none that is held.
        public var cachedFileSizeLimit: Int64 = 256 << 20
        /// The name of the cache, which its statistics and the traces of loads repeat. `nil` by default.
        public var name: String?
        /// Whether each load verifies the checksum; `true` by default.
        ///
        /// Verification takes 0.07 µs per KiB (libdeflate's CRC-32). Checksums are always stored. Values from before
        /// the last boot are always verified, since a power failure may have lost their bytes. A damaged value is a
        /// miss, and its entry is removed.
        var usesChecksums = true
        /// Whether the directory may belong to a user other than the process's or root; `false` by default, since the
        /// owner can put any files there. Intended for volumes that are shared on purpose.
        var allowsForeignDirectory = false
        /// Called on a thread of the disk pool when the cache cannot be used, once for each cause. By default it prints
        /// a line to standard error.
        public var onFailure: @Sendable (WebImageError) -> Void = { error in
            var line = "webimage: \(error)\n"
            line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }

        /// Creates the default configuration for a directory.
        public init(directory: URL = Self.defaultDirectory()) { self.directory = directory }

        /// `$XDG_CACHE_HOME/<application>/images`, or `~/.cache/<application>/images` if that variable is not an
        /// absolute path.
        ///
        /// - Parameter application: the name of the program's file by default.
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

    /// The order in which entries are removed when a limit is exceeded.
    public enum EvictionOrder: Sendable, CaseIterable {
        /// The least recently used.
        case access
        /// The oldest by the time their bytes were stored.
        case creation
        /// The oldest by the time they were last stored or updated.
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

extension DiskCache {
    /// The properties that are stored with the bytes.
    ///
    /// ```swift
    /// let attributes = DiskCache.Attributes(expiration: .after(.seconds(3600)), extendedData: Data("draft".utf8))
    /// cache.disk?.store(data, for: "report", attributes: attributes)
    /// ```
    public struct Attributes: Sendable, Hashable {
        /// When the entry expires; `nil`, the default, is never. The cache's limits apply to all entries.
        public var expiration: CacheExpiration?
        /// Data of the caller, returned unchanged; `nil` by default.
        public var extendedData: Data?
        /// The HTTP metadata of the response that the bytes came from; `nil` by default.
        public var responseMetadata: Data?

        /// Creates attributes. A value with more than 1 MiB of ``extendedData`` is not stored, and
        /// ``Configuration/onFailure`` is called.
        public init(
            expiration: CacheExpiration? = nil, extendedData: Data? = nil, responseMetadata: Data? = nil
        ) {
            self.expiration = expiration
            self.extendedData = extendedData
            self.responseMetadata = responseMetadata
        }
    }

    /// A stored value with its description.
    public struct Item: Sendable {
        /// The bytes as they were stored.
        public let data: Data
        /// The description of the bytes.
        public let entry: Entry
    }

    /// The description of a stored value.
    public struct Entry: Sendable, Hashable {
        /// The location of an entry's bytes.
        public enum Place: Sendable, Hashable {
            /// In memory, until written.
            case memory
            /// In a file that holds many values, with its number.
            case segment(Int)
            /// In a separate file.
            case file
        }

        let id: Int64
        /// The key of the entry.
        public let key: String
        /// The length of the bytes.
        public let byteCount: Int
        /// Identifies the bytes; `nil` where it would have to be computed.
        let mark: BytesMark?
        /// When the bytes were stored.
        public let created: Date
        /// When the bytes or the ``Attributes`` were last stored.
        public let modified: Date
        /// When the entry was last stored or loaded. The latest accesses may be missing until ``DiskCache/flush()``.
        public let lastAccess: Date
        /// When the entry expires; `nil` for never.
        public let expires: Date?
        /// The location of the bytes.
        public let place: Place
        /// The ``Attributes/extendedData``; always `nil` in pages of ``DiskCache/entries(after:limit:)``.
        public let extendedData: Data?
        /// The ``Attributes/responseMetadata``; always `nil` in pages of ``DiskCache/entries(after:limit:)``.
        public let responseMetadata: Data?
    }

    /// Statistics of a disk cache; reading them takes constant time.
    public struct Statistics: Sendable, Hashable {
        /// The name of the cache.
        public package(set) var name: String?
        /// The number of entries.
        public package(set) var count = 0
        /// The size of all values in bytes.
        public package(set) var byteCount: Int64 = 0
        /// Look-ups that found a value, in all processes since the cache was created. The most recent ones of a killed
        /// process are missing.
        public package(set) var hitCount = 0
        /// Look-ups that found nothing.
        public package(set) var missCount = 0
        /// Entries removed because of a limit or an expiration.
        public package(set) var evictionCount = 0
        /// The last use of the least recently used entry; `nil` in an empty cache, like the next three.
        public package(set) var oldestAccess: Date?
        /// The last use of any entry.
        public package(set) var newestAccess: Date?
        /// When the oldest entry was stored.
        public package(set) var oldestCreation: Date?
        /// When the newest entry was stored.
        public package(set) var newestCreation: Date?
        /// Files that hold many values.
        public package(set) var segments = Segments()
        /// Files that hold one value.
        public package(set) var files = Files()
        /// The size of the index with its log, in bytes.
        public package(set) var indexByteCount: Int64 = 0

        /// Files that hold many values.
        public struct Segments: Sendable, Hashable {
            /// The number of files.
            public package(set) var count = 0
            /// The size of the files in bytes, including removed values: at most twice ``liveByteCount`` plus one segment, unless compaction is
            /// pending.
            public package(set) var byteCount: Int64 = 0
            /// The size of the current values in bytes.
            public package(set) var liveByteCount: Int64 = 0
        }

        /// Files that hold one value.
        public struct Files: Sendable, Hashable {
            /// The number of files.
            public package(set) var count = 0
            /// The size of the files in bytes.
            public package(set) var byteCount: Int64 = 0
        }
    }
}

extension DiskCache.Entry {
    /// - Parameters:
    ///   - row: the entry's row in the index.
    ///   - created: microseconds since 1970, like the other times.
    init(
        key: String, row: DiskIndex.Row, deadline: ExpirationDeadline, created: Int64, modified: Int64, accessed: Int64,
        extendedData: Data? = nil, responseMetadata: Data? = nil
    ) {
        id = row.id
        self.key = key
        byteCount = Int(row.size)
        mark = row.mark
        self.created = Date(microseconds: created)
        self.modified = Date(microseconds: modified)
        lastAccess = Date(microseconds: accessed)
        expires = deadline.date
        place = row.isInFile ? .file : .segment(Int(row.segment))
        self.extendedData = extendedData
        self.responseMetadata = responseMetadata
    }

    /// The attributes that are stored with the bytes.
    var attributes: DiskCache.Attributes {
        DiskCache.Attributes(
            expiration: expires.map { .date($0) }, extendedData: extendedData, responseMetadata: responseMetadata)
    }

    /// Microseconds since 1970.
    struct Times: Sendable {
        let created: Int64
        let modified: Int64
        var accessed: Int64

        /// The time that determines the age.
        subscript(order: DiskCache.EvictionOrder) -> Int64 {
            switch order {
            case .access: accessed
            case .creation: created
            case .modification: modified
            }
        }
    }

    /// Creates the description of an entry that is not written yet.
    init(
        key: String, byteCount: Int, mark: BytesMark? = nil, attachments: DiskAttachments, times: Times
    ) {
        id = 0
        self.key = key
        self.byteCount = byteCount
        self.mark = mark
        created = Date(microseconds: times.created)
        modified = Date(microseconds: times.modified)
        lastAccess = Date(microseconds: times.accessed)
        expires = attachments.deadline.date
        place = .memory
        extendedData = attachments.extendedData
        responseMetadata = attachments.responseMetadata
    }
}

extension ExpirationDeadline {
    fileprivate var date: Date? { time == .max ? nil : Date(microseconds: time) }
}

extension Date {
    init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000) }
}
