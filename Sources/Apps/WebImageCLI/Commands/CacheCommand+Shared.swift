internal import FoundationEssentials
internal import WebImage
internal import WebImageShared

extension CacheCommand {
    /// Performs the action on a shared cache; returns whether it succeeded.
    func perform(on cache: SharedImageCache) async -> Bool {
        do throws(WebImageError) {
            switch action {
            case .stats: try await printStats(of: cache)
            case .list:
                try await cache.forEachEntry { entry in
                    report(
                        """
                        \(entry.name ?? entry.key): \(ByteCount(entry.byteCount)), \
                        stored \(Age(from: entry.modified, to: Date()).text) ago
                        """,
                        [
                            "key": .optional(entry.name), "object": .string(entry.key),
                            "bytes": .integer(entry.byteCount), "modified": .string(entry.modified.formatted(.iso8601)),
                        ])
                }
            case .get(let key, let path):
                guard let data = try await cache.storedBytes(forKey: key) else { throw .notInCache(key: key) }
                if let path {
                    try await BlockingWork.run { () throws(WebImageError) in try OutputFile.write(data, to: path) }
                    report(
                        "\(key): \(ByteCount(data.count)) → \(path)",
                        JSON(
                            [("key", .string(key)), ("bytes", .integer(data.count))] + JSON.fields(path: path)
                                + [("error", .null)]))
                } else {
                    Console.standard.print(bytes: data)
                }
            case .remove(let keys):
                for key in keys {
                    guard try await cache.storedBytes(forKey: key) != nil else { throw .notInCache(key: key) }
                    try await cache.removeStored(forKey: key)
                    report("\(key): removed", ["key": .string(key), "error": .null])
                }
            case .clear, .trim: return false
            }
            return true
        } catch {
            Console.standard.complain(error.shellText())
            if case .httpStatus(403, _) = error, S3Credential.environment == nil {
                Console.standard.complain("Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
            }
            return false
        }
    }

    private func printStats(of cache: SharedImageCache) async throws(WebImageError) {
        var (count, byteCount) = (0, 0)
        try await cache.forEachEntry(withNames: false) { entry in
            count += 1
            byteCount += entry.byteCount
        }
        report(
            .counted(
                "\(cache.configuration.location): \(count) entry, \(ByteCount(byteCount))",
                "\(cache.configuration.location): \(count) entries, \(ByteCount(byteCount))", count),
            ["entries": .integer(count), "bytes": .integer(byteCount)])
    }
}
