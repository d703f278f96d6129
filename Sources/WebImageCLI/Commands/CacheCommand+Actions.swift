internal import FoundationEssentials
internal import WebImage

extension CacheCommand {
    /// Whether it succeeded.
    func perform(on disk: DiskCache) async -> Bool {
        switch action {
        case .stats: await printStats(of: disk)
        case .list: await printEntries(of: disk)
        case .get(let key, let path): await get(key, into: path, from: disk)
        case .remove(let keys): await remove(keys, from: disk)
        case .clear: await clear(disk)
        case .trim(let size): await trim(disk, to: size)
        }
    }

    private func printStats(of disk: DiskCache) async -> Bool {
        let (count, size) = (await disk.count, await disk.totalSize)
        let directory = disk.configuration.directory.path(percentEncoded: false)
        report(
            "\(directory): \(count) entries, \(ByteCount(Int(size)))",
            ["directory": .string(directory), "entries": .integer(count), "bytes": .integer(Int(size))])
        return true
    }

    private func printEntries(of disk: DiskCache) async -> Bool {
        var last: DiskCache.Entry?
        while true {
            let page = await disk.entries(after: last)
            guard !page.isEmpty else { return true }
            for entry in page {
                let (created, lastAccess) = (entry.created.formatted(.iso8601), entry.lastAccess.formatted(.iso8601))
                report(
                    "\(entry.key): \(ByteCount(entry.byteCount)), stored \(created), used \(lastAccess)",
                    [
                        "key": .string(entry.key), "bytes": .integer(entry.byteCount), "created": .string(created),
                        "lastAccess": .string(lastAccess),
                    ])
            }
            last = page.last
        }
    }

    private func get(_ key: String, into path: String?, from disk: DiskCache) async -> Bool {
        var byteCount: Int?
        let failure = await failure { () async throws(WebImageError) in
            guard let data = await disk.data(for: key) else { throw .notInCache(key: key) }
            if let path {
                try await BlockingWork.run { () throws(WebImageError) in try OutputFile.write(data, to: path) }
            } else {
                Console.standard.print(bytes: data)
            }
            byteCount = data.count
        }
        if path != nil || failure != nil {
            report(
                byteCount.map { "\(key): \(ByteCount($0)) → \(path ?? "")" },
                [
                    "key": .string(key), "bytes": .optional(byteCount),
                    "path": failure == nil ? .optional(path) : .null,
                    "error": failure.map(\.json) ?? .null,
                ])
        }
        return failure == nil
    }

    private func remove(_ keys: [String], from disk: DiskCache) async -> Bool {
        var areAllRemoved = true
        for key in keys {
            let failure = await failure { () async throws(WebImageError) in
                guard await disk.contains(key) else { throw .notInCache(key: key) }
                await withCheckedContinuation { continuation in disk.remove(for: key) { continuation.resume() } }
            }
            if failure != nil { areAllRemoved = false }
            report(
                failure == nil ? "\(key): removed" : nil,
                ["key": .string(key), "error": failure.map(\.json) ?? .null])
        }
        return areAllRemoved
    }

    private func clear(_ disk: DiskCache) async -> Bool {
        let (count, size) = (await disk.count, await disk.totalSize)
        await disk.removeAll()
        reportRemoved(count: count, size: size)
        return true
    }

    private func trim(_ disk: DiskCache, to limit: Int64?) async -> Bool {
        let (count, size) = (await disk.count, await disk.totalSize)
        await disk.trim(toSize: limit ?? .max)
        await disk.flush()
        reportRemoved(count: count - (await disk.count), size: size - (await disk.totalSize))
        return true
    }

    private func reportRemoved(count: Int, size: Int64) {
        report(
            "removed \(count) entries, \(ByteCount(Int(size)))",
            ["removed": .integer(count), "bytes": .integer(Int(size))])
    }

    private func failure(of body: () async throws(WebImageError) -> Void) async -> WebImageError? {
        do throws(WebImageError) {
            try await body()
            return nil
        } catch {
            Console.standard.complain(error.description)
            return error
        }
    }

    /// - Parameter line: `nil` for what failed and was complained about.
    private func report(_ line: String?, _ json: JSON) {
        if isJSON {
            Console.standard.print(json.text)
        } else if let line {
            Console.standard.print(line)
        }
    }
}
