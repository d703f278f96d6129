import CWebImageSQLite
import Foundation
import Testing
import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct CacheTests {
    let tool: Tool
    let addresses: [String]
    let images: [Data]

    /// Three images in the cache, oldest first.
    init() async throws {
        tool = try Tool()
        let root = try TemporaryDirectory()
        let server = try NGINXServer(root: root.path)
        images = try (0..<3).map { try TestImage(number: $0).data(.png) }
        for (index, data) in images.enumerated() { try root.write(data, to: "\(index).png") }
        addresses = try (0..<3).map { try server.url("/\($0).png").absoluteString }
        for address in addresses {
            let run = try await tool.run("get", address)
            #expect(run.status == 0, "\(run.errors)")
        }
    }

    private func stats() async throws -> StatsObject {
        try await tool.run("cache", "stats", "--json").object(StatsObject.self)
    }

    /// Prevents the tool from removing anything, faster than a process that locks the index for long.
    private func forbidRemoval() throws {
        var index: OpaquePointer?
        defer { sqlite3_close(index) }
        try #require(sqlite3_open(tool.path("cache-home/webimage/images/index.sqlite"), &index) == SQLITE_OK)
        let sql = "CREATE TRIGGER refusal BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'refused'); END"
        try #require(sqlite3_exec(index, sql, nil, nil, nil) == SQLITE_OK)
    }

    @Test func statsCountEntriesAndBytes() async throws {
        let stats = try await stats()
        #expect(stats.entries == 3)
        #expect(stats.bytes == images.map(\.count).reduce(0, +))
        #expect(stats.directory.hasPrefix(tool.path("cache-home/webimage/images")))
    }

    @Test func statsShowSegmentsHitsAndEvictions() async throws {
        let before = try await stats()
        // Each was looked up before it was loaded.
        #expect(before.hits == 0 && before.misses == 3 && before.hitPercent == 0)
        #expect(before.segments.count == 1 && before.segments.liveBytes == before.bytes)
        #expect(before.segments.bytes >= before.bytes && before.indexBytes > 0)
        #expect(before.files == StatsObject.Files(count: 0, bytes: 0))
        #expect(before.oldestCreation != nil && before.newestAccess != nil && before.evictions == 0)

        #expect(try await tool.run("get", addresses[0]).status == 0)
        #expect(try await tool.run("cache", "trim", "--count", "2").status == 0)
        let after = try await stats()
        #expect(after.hits == 1 && after.misses == 3 && after.hitPercent == 25)
        #expect(after.entries == 2 && after.evictions == 1)

        let text = try await tool.run("cache", "stats").output
        #expect(text.contains("2 entries"))
        #expect(text.contains("4, 1 hit (25 %)"))
        #expect(text.contains("2 in 1 segment (") && text.contains("1 entry evicted"))
    }

    @Test func statsDescribeAnEmptyCache() async throws {
        #expect(try await tool.run("cache", "clear").status == 0)
        let stats = try await stats()
        #expect(stats.entries == 0 && stats.oldestCreation == nil && stats.segments.liveBytes == 0)
        #expect(try await tool.run("cache", "list").output.isEmpty)
    }

    @Test func listShowsAgesAndExpirations() async throws {
        let path = tool.path("own")
        let cache = DiskCache(configuration: DiskCache.Configuration(directory: URL(filePath: path)))
        let expiring = DiskCache.Attributes(expiration: .after(.seconds(86_400 * 10.5)))
        cache.store(Data(count: 10), for: "expiring", attributes: expiring)
        cache.store(Data(count: 1 << 20), for: "large")
        await cache.flush()
        let entries = try await tool.run("cache", "list", "--cache-dir", path, "--json").objects(EntryObject.self)
        #expect(entries.map(\.place) == ["segment", "file"])
        #expect(entries.map { $0.expires != nil } == [true, false])
        #expect(entries.allSatisfy { (0..<3_600).contains($0.age ?? -1) })
        let lines = try await tool.run("cache", "list", "--cache-dir", path).output.split(separator: "\n")
        #expect(lines.map { $0.contains("expires in 10 days") } == [true, false])
        #expect(lines.allSatisfy { $0.contains(": ") && $0.contains(" ago, used ") })
    }

    /// Keys with any characters.
    @Test func listedKeysAreFound() async throws {
        let path = tool.path("own")
        let cache = DiskCache(configuration: DiskCache.Configuration(directory: URL(filePath: path)))
        let keys = [
            ImageCacheKey(source: "caf\u{e9}"), ImageCacheKey(source: "cafe\u{301}"), ImageCacheKey(source: "a#b"),
            ImageCacheKey(source: "a", variant: "b"), ImageCacheKey(source: "a\nb\\", variant: "text=a\nb"),
        ]
        for (number, key) in keys.enumerated() { cache.store(Data([UInt8(number)]), for: key.description) }
        await cache.flush()
        let lines = try await tool.run("cache", "list", "--cache-dir", path).output.split(separator: "\n")
        try #require(lines.count == keys.count)
        for (number, line) in lines.enumerated() {
            let key = String(try #require(line.firstRange(of: ": 1 ").map { line[..<$0.lowerBound] }))
            let run = try await tool.run("cache", "get", key, "-o", "\(number)", "--cache-dir", path)
            #expect(run.status == 0, "\(run.errors)")
            #expect(try tool.contents(of: "\(number)") == Data([UInt8(number)]))
            #expect(try await tool.run("cache", "remove", key, "--cache-dir", path).status == 0)
        }
        #expect(try await tool.run("cache", "list", "--cache-dir", path).output.isEmpty)
    }

    @Test func listsEntries() async throws {
        let objects = try await tool.run("cache", "list", "--json").objects(EntryObject.self)
        #expect(objects.map(\.key) == addresses)
        #expect(objects.map(\.bytes) == images.map(\.count))
        let plain = try await tool.run("cache", "list").output.split(separator: "\n")
        #expect(zip(plain, addresses).allSatisfy { $0.hasPrefix($1) })
    }

    @Test func getWritesTheStoredBytes() async throws {
        let object = try await tool.run("cache", "get", addresses[1], "-o", "b.png", "--json").object(EntryObject.self)
        #expect(object == EntryObject(key: addresses[1], bytes: images[1].count, path: "b.png"))
        #expect(try tool.contents(of: "b.png") == images[1])
        let missing = try await tool.run("cache", "get", "nothing", "-o", "c.png", "--json")
        #expect(missing.status == 1)
        #expect(try missing.object(EntryObject.self).error?.code == 400)
        #expect(tool.names(in: ".").contains("c.png") == false)
    }

    @Test func removesEntries() async throws {
        let run = try await tool.run("cache", "remove", addresses[0], "nothing", addresses[2], "--json")
        #expect(run.status == 1)
        #expect(try run.objects(EntryObject.self).map { $0.error?.code } == [nil, 400, nil])
        #expect(try await tool.run("cache", "list", "--json").objects(EntryObject.self).map(\.key) == [addresses[1]])
    }

    @Test func removesEverything() async throws {
        let removal = try await tool.run("cache", "clear", "--json").object(RemovalObject.self)
        #expect(removal == RemovalObject(removed: 3, bytes: images.map(\.count).reduce(0, +)))
        #expect(try await stats().entries == 0)
        #expect(try await tool.run("get", addresses[0], "--policy", "cacheOnly").status == 1)
    }

    @Test func reportsFailedRemovals() async throws {
        try forbidRemoval()
        let removal = try await tool.run("cache", "remove", addresses[0], addresses[1], "--json")
        #expect(removal.status == 1)
        #expect(try removal.objects(EntryObject.self).map { $0.error?.code } == [401, 401])
        #expect(addresses.prefix(2).allSatisfy { removal.errors.contains("\($0): ") }, "\(removal.errors)")
        for arguments in [["clear"], ["trim", "0"]] {
            let run = try await tool.run(["cache", "--json"] + arguments)
            #expect(run.status == 1)
            let removal = try run.object(RemovalObject.self)
            #expect(removal.removed == 0 && removal.bytes == 0)
            #expect(run.errors.contains("refused") && removal.error?.message.contains("refused") == true)
        }
        #expect(try await stats().entries == 3)
    }

    @Test func trimsTheLeastRecentlyUsedFirst() async throws {
        #expect(try await tool.run("cache", "trim", "--json").object(RemovalObject.self).removed == 0)
        // The first is used again, so that the second is the oldest.
        #expect(try await tool.run("get", addresses[0]).status == 0)
        let byteCount = images[0].count + images[2].count
        let removal = try await tool.run("cache", "trim", "\(byteCount)", "--json").object(RemovalObject.self)
        #expect(removal == RemovalObject(removed: 1, bytes: images[1].count))
        let keys = try await tool.run("cache", "list", "--json").objects(EntryObject.self).map(\.key)
        #expect(keys == [addresses[0], addresses[2]])
    }

    @Test func trimsByCountAndAge() async throws {
        let byCount = try await tool.run("cache", "trim", "--count", "1", "--json").object(RemovalObject.self)
        #expect(byCount == RemovalObject(removed: 2, bytes: images[0].count + images[1].count))
        #expect(try await tool.run("cache", "trim", "--age", "1", "--json").object(RemovalObject.self).removed == 0)
        #expect(try await tool.run("cache", "trim", "--age", "0", "--json").object(RemovalObject.self).removed == 1)
    }

    @Test(arguments: [
        ["stats", "--count", "1"], ["trim", "--count", "-1"], ["trim", "--age", "x"], ["clear", "--age", "1"],
    ])
    func refusesInvalidLimits(_ arguments: [String]) async throws {
        let run = try await tool.run(["cache"] + arguments)
        #expect(run.status == 2)
        #expect(run.errors.contains(arguments[1]))
    }

    @Test(arguments: ["5 apples", "-5", "1.5G", "M", "9223372036854775807K"])
    func refusesInvalidSizes(_ size: String) async throws {
        let run = try await tool.run("cache", "trim", size)
        #expect(run.status == 2)
        #expect(run.errors.contains(size))
    }

    @Test(arguments: [("1", 3), ("1k", 0), ("20 MiB", 0), ("20mib", 0), ("1G", 0)])
    func readsSizesWithUnits(_ size: String, _ removed: Int) async throws {
        let run = try await tool.run("cache", "trim", size, "--json")
        #expect(run.status == 0)
        if size == "1k" {
            let kept = try await stats().bytes
            #expect(kept <= 1_024)
        } else {
            #expect(try run.object(RemovalObject.self).removed == removed)
        }
    }

    @Test func suggestsWhatToDoAboutAMissingKey() async throws {
        for arguments in [["remove", "nothing"], ["get", "nothing", "-o", "c.png"]] {
            let run = try await tool.run(["cache"] + arguments)
            #expect(run.status == 1)
            #expect(run.errors.contains("nothing is not in the cache; 'webimage cache list' prints the keys."))
        }
    }

    @Test(arguments: ["stats", "list", "clear", "trim"])
    func doesNotCreateAMissingCache(_ action: String) async throws {
        for directory in [tool.path("mistyped"), tool.path(".")] {
            let run = try await tool.run("cache", action, "--cache-dir", directory)
            #expect(run.status == 1)
            #expect(run.errors.contains("\(directory): there is no cache in this directory."))
        }
        #expect(!tool.names(in: ".").contains { $0 == "mistyped" || $0.hasPrefix("index") })
        #expect(try await tool.run("cache", action, "--cache-dir", "").status == 2)

        let user = try Tool()
        let run = try await user.run("cache", action)
        #expect(run.status == 1)
        #expect(run.errors.contains("\(user.path("cache-home/webimage/images")): there is no cache in this directory."))
        #expect(user.names(in: ".").isEmpty)
    }

    @Test(arguments: [("", ".cache"), ("relative", ".cache"), ("HOME/other", "other")])
    func theCacheIsInTheHomeDirectoryUnlessAnAbsolutePathIsSet(variable: String, folder: String) async throws {
        let user = try Tool()
        let value = variable.replacing("HOME", with: user.directory.path)
        let command = ["/usr/bin/env", "XDG_CACHE_HOME=\(value)", RunningTool.program.path]
        let run = try await user.run(program: command + ["cache", "stats"])
        #expect(run.errors.contains("\(user.path("\(folder)/webimage/images")): there is no cache"), "\(run.errors)")
    }

    @Test func failsIfTheIndexIsDamaged() async throws {
        let folder = "cache-home/webimage/images"
        for name in tool.names(in: folder) where name.hasPrefix("index.sqlite-") {
            try FileManager.default.removeItem(atPath: tool.path("\(folder)/\(name)"))
        }
        _ = try tool.write(Data("no index".utf8), to: "\(folder)/index.sqlite")
        let run = try await tool.run("cache", "list")
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.errors.contains("damaged index"), "\(run.errors)")
    }

    @Test func failsIfTheDirectoryIsUnusable() async throws {
        let blocked = try tool.write(Data("x".utf8), to: "blocked")
        let run = try await tool.run("cache", "stats", "--cache-dir", blocked)
        #expect(run.status == 1)
        #expect(run.errors.contains(blocked))
        #expect(run.output.isEmpty)
        // It is unknown whether the entry exists.
        let removal = try await tool.run("cache", "remove", "key", "--json", "--cache-dir", blocked)
        #expect(removal.status == 1)
        #expect(try removal.object(EntryObject.self).error?.code == 401)
        #expect(!removal.errors.contains("not in the cache"))
    }
}
