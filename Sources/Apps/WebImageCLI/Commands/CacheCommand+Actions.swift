internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

extension CacheCommand {
    /// Performs the action; returns whether it succeeded.
    func perform(on disk: DiskCache) async -> Bool {
        switch action {
        case .stats: await printStats(of: disk)
        case .list: await printEntries(of: disk)
        case .get(let key, let path): await get(key, into: path, from: disk)
        case .remove(let keys): await remove(keys, from: disk)
        case .clear:
            await reportRemoval(from: disk) {
                await disk.removeAll()
                await disk.pixels?.removeAll()
                await disk.removeInterruptedTransfers()
            }
        case .trim(let limits): await reportRemoval(from: disk) { await trim(disk, to: limits) }
        }
    }

    private func get(_ key: String, into path: SystemString?, from disk: DiskCache) async -> Bool {
        var byteCount: Int?
        let failure = await failure(about: key) { () async throws(WebImageError) in
            guard let data = await disk.data(for: await storedKey(for: key, in: disk)) else {
                throw await absence(of: key, in: disk)
            }
            if let path {
                try await BlockingWork.run { () throws(WebImageError) in try OutputFile.write(data, to: path) }
            } else {
                Console.standard.print(bytes: data)
            }
            byteCount = data.count
        }
        if path != nil || failure != nil {
            report(
                byteCount.map { "\(key): \(ByteCount($0)) → \(path?.description ?? "")" },
                JSON(
                    [("key", .string(key)), ("bytes", .optional(byteCount))]
                        + JSON.fields(path: failure == nil ? path : nil)
                        + [("error", failure.map { json(of: $0, about: key) } ?? .null)]))
        }
        return failure == nil
    }

    private func remove(_ keys: [String], from disk: DiskCache) async -> Bool {
        var areAllRemoved = true
        for key in keys {
            let failure = await failure(about: key) { () async throws(WebImageError) in
                let key = await storedKey(for: key, in: disk)
                guard await disk.contains(key) else { throw await absence(of: key, in: disk) }
                if let image = ImageCacheKey(text: key) {
                    // Also its other responses and its files.
                    await ImageCache(disk: disk).remove(for: image, from: .disk)
                } else {
                    await withCheckedContinuation { continuation in disk.remove(for: key) { continuation.resume() } }
                }
                // If the entry still exists, it could not be removed, and the cache has reported the reason.
                if await disk.contains(key), let failure = failures.withLock(\.last) { throw failure }
            }
            if failure != nil { areAllRemoved = false }
            report(
                failure == nil ? "\(key): removed" : nil,
                ["key": .string(key), "error": failure.map { json(of: $0, about: key) } ?? .null])
        }
        return areAllRemoved
    }

    /// Returns the key that is meant: as given, or as 'list' prints it, where control characters are escaped.
    private func storedKey(for key: String, in disk: DiskCache) async -> String {
        let unescaped = TerminalText.unescaped(key)
        if unescaped.utf8.elementsEqual(key.utf8) { return key }
        return await disk.contains(key) ? key : unescaped
    }

    /// Returns why a key was not found. If the cache cannot be used, its contents are unknown.
    private func absence(of key: String, in disk: DiskCache) async -> WebImageError {
        await disk.flush()
        return unusableCache ?? .notInCache(key: key)
    }

    private func trim(_ disk: DiskCache, to limits: Limits) async {
        if let count = limits.count { await disk.trim(toCount: count) }
        if let age = limits.age { await disk.trim(toAge: age) }
        // Also removes expired entries and leftover files; the following flush applies the cache's own limits.
        await disk.trim(toSize: limits.size ?? .max)
        if let pixels = disk.pixels { await trim(pixels, to: limits) }
    }

    /// Runs `body` and reports the decrease in entries and bytes; entries that could not be removed are not counted.
    private func reportRemoval(from disk: DiskCache, by body: () async -> Void) async -> Bool {
        let (count, size) = (await disk.count, await disk.totalSize)
        await body()
        // After a failure this opens the index again, which would otherwise count as empty.
        await disk.flush()
        // Another process may have stored more in the meantime.
        let (removedCount, removedSize) = (max(0, count - (await disk.count)), max(0, size - (await disk.totalSize)))
        let failure = failures.withLock(\.first)
        let amount = ByteCount(Int(removedSize))
        let line: LocalizableText = .counted(
            "removed \(removedCount) entry, \(amount)", "removed \(removedCount) entries, \(amount)", removedCount)
        // After a failure, "removed 0" would read as if there had been nothing.
        report(
            failure == nil || removedCount > 0 ? line : nil,
            [
                "removed": .integer(removedCount), "bytes": .integer(Int(removedSize)),
                "error": failure.map { json(of: $0, about: nil) } ?? .null,
            ])
        return failure == nil
    }

    private func failure(
        about key: String, of body: () async throws(WebImageError) -> Void
    ) async -> WebImageError? {
        do throws(WebImageError) {
            try await body()
            return nil
        } catch {
            if case .notInCache = error {
                Console.standard.complain("\(key) is not in the cache; 'webimage cache list' prints the keys.")
            } else if error != unusableCache {
                Console.standard.complain(error.shellText(about: key))
            } else if isTolerable(error) {
                Console.standard.complain(text(of: error))
            }
            return error
        }
    }

    /// - Parameter key: `nil` for an error about the whole cache.
    private func json(of error: WebImageError, about key: String?) -> JSON {
        guard let key, error != unusableCache else {
            return ["code": .integer(error.code), "message": .string(text(of: error).english)]
        }
        return error.json(about: key)
    }

    /// - Parameter line: `nil` for a failure that was already reported.
    func report(_ line: LocalizableText?, _ json: JSON) { report(line.map { [$0] } ?? [], json) }

    func report(_ lines: [LocalizableText], _ json: JSON) {
        if isJSON {
            Console.standard.print(json)
        } else if !isQuiet {
            for line in lines { Console.standard.print(localized(line)) }
        }
    }
}

extension CacheCommand {
    func printStats(of disk: DiskCache) async -> Bool {
        let statistics = await disk.statistics()
        // The error was already reported; zeros would be wrong.
        if unusableCache != nil { return false }
        let directory = disk.configuration.directory.path(percentEncoded: false)
        let pixels = await disk.pixels?.statistics()
        let pixelLine = pixels.map { pixels -> LocalizableText in
            let size = ByteCount(Int(pixels.byteCount))
            return .counted(
                "  pixels    \(pixels.count) image without decoding, \(size)",
                "  pixels    \(pixels.count) images without decoding, \(size)", pixels.count)
        }
        report(
            statistics.lines(directory: directory, now: Date()) + (pixelLine.map { [$0] } ?? []),
            statistics.json(directory: directory, pixels: pixels))
        return true
    }

    func printEntries(of disk: DiskCache) async -> Bool {
        var last: DiskCache.Entry?
        while true {
            let page = await disk.entries(after: last)
            // The error was already reported; no entries would be wrong.
            guard !page.isEmpty else { return unusableCache == nil }
            let now = Date()
            for entry in page { report(entry.text(now: now), entry.json(now: now)) }
            last = page.last
        }
    }
}

extension DiskCache.Statistics {
    fileprivate func lines(directory: String, now: Date) -> [LocalizableText] {
        func size(_ byteCount: Int64) -> ByteCount { ByteCount(Int(byteCount)) }
        let rate = hitPercent.map { " (\(Int($0.rounded())) %)" } ?? ""
        let hits: LocalizableText = .counted("\(hitCount) hit", "\(hitCount) hits", hitCount)
        let evicted: LocalizableText = .counted(
            "\(evictionCount) entry evicted", "\(evictionCount) entries evicted", evictionCount)
        let inSegments: LocalizableText = .counted(
            "\(count - files.count) in \(segments.count) segment",
            "\(count - files.count) in \(segments.count) segments",
            segments.count)
        var lines: [LocalizableText] = [
            .counted(
                "\(directory): \(count) entry, \(size(byteCount))",
                "\(directory): \(count) entries, \(size(byteCount))",
                count),
            """
              values    \(inSegments) (\(size(segments.byteCount)), \(size(segments.liveByteCount)) in use), \
            \(files.count) in separate files (\(size(files.byteCount))); index \(size(indexByteCount))
            """, "  look-ups  \(hitCount + missCount), \(hits)\(rate); \(evicted)",
        ]
        if let oldestCreation, let newestCreation, let oldestAccess, let newestAccess {
            let (first, last) = (Age(from: oldestCreation, to: now).text, Age(from: newestCreation, to: now).text)
            lines.append("  stored    \(first) to \(last) ago")
            let (earliest, latest) = (Age(from: oldestAccess, to: now).text, Age(from: newestAccess, to: now).text)
            lines.append("  used      \(earliest) to \(latest) ago")
        }
        return lines
    }

    /// - Parameter pixels: those beside the cache; `nil` if there are none.
    fileprivate func json(directory: String, pixels: DiskCache.Statistics?) -> JSON {
        [
            "pixels": pixels.map { ["entries": .integer($0.count), "bytes": .integer(Int($0.byteCount))] } ?? .null,
            "directory": .path(SystemString(directory)), "entries": .integer(count), "bytes": .integer(Int(byteCount)),
            "hits": .integer(hitCount), "misses": .integer(missCount),
            "hitPercent": hitPercent.map(JSON.decimal) ?? .null,
            "evictions": .integer(evictionCount),
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
        hitCount + missCount > 0 ? Double(hitCount) / Double(hitCount + missCount) * 100 : nil
    }
}

extension DiskCache.Entry {
    fileprivate func text(now: Date) -> LocalizableText {
        var facts: [LocalizableText] = [
            "\(ByteCount(byteCount))", "stored \(Age(from: created, to: now).text) ago",
            "used \(Age(from: lastAccess, to: now).text) ago",
        ]
        if let expires {
            facts.append(expires > now ? "expires in \(Age(from: now, to: expires).text)" : "expired")
        }
        return "\(key): \(LocalizableText.joined(facts, by: ", "))"
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
