internal import FoundationEssentials
internal import WebImage

extension CacheCommand {
    func printStats(of disk: DiskCache) async -> Bool {
        let statistics = await disk.statistics()
        // The error was already reported; zeros would be wrong.
        if unusableCache != nil { return false }
        let directory = disk.configuration.directory.path(percentEncoded: false)
        report(statistics.text(directory: directory, now: Date()), statistics.json(directory: directory))
        return true
    }

    func printEntries(of disk: DiskCache) async -> Bool {
        var last: DiskCache.Entry?
        while true {
            let page = await disk.entries(after: last)
            guard !page.isEmpty else { return true }
            let now = Date()
            for entry in page { report(entry.text(now: now), entry.json(now: now)) }
            last = page.last
        }
    }
}

extension DiskCache.Statistics {
    fileprivate func text(directory: String, now: Date) -> String {
        let lookUps = hits + misses
        let rate = hitPercent.map { " (\(Int($0.rounded())) %)" } ?? ""
        let entries = CacheCommand.counted(count, "entry", "entries")
        let segmentCount = CacheCommand.counted(segments.count, "segment", "segments")
        let evicted = CacheCommand.counted(evictions, "entry", "entries")
        var lines = [
            "\(directory): \(entries), \(ByteCount(Int(byteCount)))",
            "  values    \(count - files.count) in \(segmentCount) (\(ByteCount(Int(segments.byteCount))), "
                + "\(ByteCount(Int(segments.liveByteCount))) in use), \(files.count) in separate files "
                + "(\(ByteCount(Int(files.byteCount)))); index \(ByteCount(Int(indexByteCount)))",
            "  look-ups  \(lookUps), \(CacheCommand.counted(hits, "hit", "hits"))\(rate); \(evicted) evicted",
        ]
        if let oldestCreation, let newestCreation, let oldestAccess, let newestAccess {
            lines.append(
                "  stored    \(Age(from: oldestCreation, to: now)) to \(Age(from: newestCreation, to: now)) ago")
            lines.append("  used      \(Age(from: oldestAccess, to: now)) to \(Age(from: newestAccess, to: now)) ago")
        }
        return lines.joined(separator: "\n")
    }

    fileprivate func json(directory: String) -> JSON {
        [
            "directory": .string(directory), "entries": .integer(count), "bytes": .integer(Int(byteCount)),
            "hits": .integer(hits), "misses": .integer(misses), "hitPercent": hitPercent.map(JSON.decimal) ?? .null,
            "evictions": .integer(evictions),
            "oldestCreation": .optional(oldestCreation), "newestCreation": .optional(newestCreation),
            "oldestAccess": .optional(oldestAccess), "newestAccess": .optional(newestAccess),
            "segments": [
                "count": .integer(segments.count), "bytes": .integer(Int(segments.byteCount)),
                "liveBytes": .integer(Int(segments.liveByteCount)),
            ],
            "files": ["count": .integer(files.count), "bytes": .integer(Int(files.byteCount))],
            "indexBytes": .integer(Int(indexByteCount)),
        ]
    }

    /// `nil` without any look-ups.
    private var hitPercent: Double? {
        hits + misses > 0 ? Double(hits) / Double(hits + misses) * 100 : nil
    }
}

extension DiskCache.Entry {
    fileprivate func text(now: Date) -> String {
        var text = "\(key): \(ByteCount(byteCount)), stored \(Age(from: created, to: now)) ago, "
        text += "used \(Age(from: lastAccess, to: now)) ago"
        if let expires {
            text += expires > now ? ", expires in \(Age(from: now, to: expires))" : ", expired"
        }
        return text
    }

    fileprivate func json(now: Date) -> JSON {
        [
            "key": .string(key), "bytes": .integer(byteCount), "created": .optional(created),
            "modified": .optional(modified), "lastAccess": .optional(lastAccess), "expires": .optional(expires),
            "age": .decimal(now.timeIntervalSince(created)), "place": .string(place.name),
        ]
    }
}

extension DiskCache.Entry.Place {
    fileprivate var name: String {
        switch self {
        case .memory: "memory"
        case .segment: "segment"
        case .file: "file"
        }
    }
}

extension JSON {
    /// The date in ISO 8601 format with seconds; `null` for `nil`.
    fileprivate static func optional(_ date: Date?) -> JSON { .optional(date?.formatted(.iso8601)) }
}
