public import FoundationEssentials

extension DiskCache {
    /// What is stored beside the bytes.
    public struct Attributes: Sendable, Hashable {
        /// When the entry stops being valid; `nil`, the default, is ``Configuration/expiration``. The cache's limits apply
        /// to all entries.
        public var expiration: CacheExpiration?
        /// The caller's own, handed back untouched; `nil` by default.
        public var extendedData: Data?
        /// What an HTTP policy has to remember of the answer that brought the bytes; `nil` by default.
        public var responseMetadata: Data?

        /// Takes them together. ``extendedData`` and ``responseMetadata`` may have 1 MiB in all: a value with more is not
        /// stored, and ``Configuration/onFailure`` is told.
        public init(
            expiration: CacheExpiration? = nil, extendedData: Data? = nil, responseMetadata: Data? = nil
        ) {
            self.expiration = expiration
            self.extendedData = extendedData
            self.responseMetadata = responseMetadata
        }
    }

    /// A stored value with what is known about it.
    public struct Item: Sendable {
        /// The bytes as they were stored.
        public let data: Data
        /// What is known about them.
        public let entry: Entry
    }

    /// What is known about a stored value.
    public struct Entry: Sendable, Hashable {
        /// Where an entry's bytes are.
        public enum Place: Sendable, Hashable {
            /// In memory, until they are written.
            case memory
            /// In a file that holds many values.
            case segment(Int)
            /// In a file of their own.
            case file
        }

        let id: Int64
        /// What it is found by.
        public let key: String
        /// Its length.
        public let byteCount: Int
        /// When its bytes were stored.
        public let created: Date
        /// When its bytes or ``Attributes`` were stored last.
        public let modified: Date
        /// When it was stored or loaded last; accesses of the last moments may be missing until ``DiskCache/flush()``.
        public let lastAccess: Date
        /// When it stops being valid; `nil` for never.
        public let expires: Date?
        /// Where its bytes are.
        public let place: Place
        /// As given with ``Attributes``; always `nil` in pages of ``DiskCache/entries(after:limit:)``.
        public let extendedData: Data?
        /// As given with ``Attributes``; always `nil` in pages of ``DiskCache/entries(after:limit:)``.
        public let responseMetadata: Data?
    }

    /// Figures of a cache, all of them found without a walk over its entries.
    public struct Statistics: Sendable, Hashable {
        /// How many entries there are.
        public var count = 0
        /// The bytes of all values.
        public var byteCount: Int64 = 0
        /// Look-ups that found something, in all processes since the cache was made. They are written down with accesses,
        /// so that the last of a process that is killed are missing.
        public var hits = 0
        /// Look-ups that found nothing.
        public var misses = 0
        /// Entries that went because of a limit or an expiration.
        public var evictions = 0
        /// The last use of the entry that was not used for the longest time; `nil` in an empty cache, as the next three.
        public var oldestAccess: Date?
        /// The last use of any entry.
        public var newestAccess: Date?
        /// When the first of the entries was stored.
        public var oldestCreation: Date?
        /// When the last of the entries was stored.
        public var newestCreation: Date?
        /// Files that hold many values.
        public var segments = Segments()
        /// Files that hold one value.
        public var files = Files()
        /// The bytes of the index with its log.
        public var indexByteCount: Int64 = 0

        /// Files that hold many values.
        public struct Segments: Sendable, Hashable {
            /// How many there are.
            public var count = 0
            /// Their bytes, with those of removed values. At most twice ``liveByteCount`` and one segment, when
            /// nothing waits to be tidied up.
            public var byteCount: Int64 = 0
            /// The bytes of the values in them.
            public var liveByteCount: Int64 = 0
        }

        /// Files that hold one value.
        public struct Files: Sendable, Hashable {
            /// How many there are.
            public var count = 0
            /// Their bytes.
            public var byteCount: Int64 = 0
        }
    }
}

extension DiskCache.Entry {
    /// - Parameters:
    ///   - row: its row in the index.
    ///   - created: microseconds since 1970, as the other times.
    init(
        key: String, row: DiskIndex.Row, deadline: ExpirationDeadline, created: Int64, modified: Int64, accessed: Int64,
        extendedData: Data? = nil, responseMetadata: Data? = nil
    ) {
        id = row.id
        self.key = key
        byteCount = Int(row.size)
        self.created = Date(microseconds: created)
        self.modified = Date(microseconds: modified)
        lastAccess = Date(microseconds: accessed)
        expires = deadline.date
        place = row.isInFile ? .file : .segment(Int(row.segment))
        self.extendedData = extendedData
        self.responseMetadata = responseMetadata
    }

    /// Microseconds since 1970.
    struct Times: Sendable {
        let created: Int64
        let modified: Int64
        var accessed: Int64

        /// That by which the age counts.
        subscript(order: DiskCache.EvictionOrder) -> Int64 {
            switch order {
            case .access: accessed
            case .creation: created
            case .modification: modified
            }
        }
    }

    /// One that waits to be written.
    init(key: String, byteCount: Int, attachments: DiskAttachments, times: Times) {
        id = 0
        self.key = key
        self.byteCount = byteCount
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
