import CWebImageSQLite
import Foundation
import Testing
import WebImage
import WebImageTestSupport

@Suite struct CacheTests {
    let tool: Tool
    let addresses: [String]
    let pictures: [Data]

    /// Three pictures in the cache, oldest first.
    init() async throws {
        tool = try Tool()
        let root = try TemporaryDirectory()
        let server = try NGINXServer(root: root.path)
        pictures = try (0..<3).map { try TestPicture(number: $0).data(.png) }
        for (index, data) in pictures.enumerated() { try root.write(data, to: "\(index).png") }
        addresses = try (0..<3).map { try server.url("/\($0).png").absoluteString }
        for address in addresses {
            let run = try await tool.run("get", address)
            #expect(run.status == 0, "\(run.errors)")
        }
    }

    private func stats() async throws -> StatsObject {
        try await tool.run("cache", "stats", "--json").object(StatsObject.self)
    }

    /// Keeps the tool from removing anything; a process that holds the index for long does so too, but takes its time.
    private func forbidRemoval() throws {
        var index: OpaquePointer?
        defer { sqlite3_close(index) }
        try #require(sqlite3_open(tool.path("cache-home/webimage/images/index.sqlite"), &index) == SQLITE_OK)
        let sql = "CREATE TRIGGER refusal BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'refused'); END"
        try #require(sqlite3_exec(index, sql, nil, nil, nil) == SQLITE_OK)
    }

    @Test func countsWhatIsThere() async throws {
        let stats = try await stats()
        #expect(stats.entries == 3)
        #expect(stats.bytes == pictures.map(\.count).reduce(0, +))
        #expect(stats.directory.hasPrefix(tool.path("cache-home/webimage/images")))
    }

    @Test func listsWhatIsThere() async throws {
        let objects = try await tool.run("cache", "list", "--json").objects(EntryObject.self)
        #expect(objects.map(\.key) == addresses)
        #expect(objects.map(\.bytes) == pictures.map(\.count))
        let plain = try await tool.run("cache", "list").output.split(separator: "\n")
        #expect(zip(plain, addresses).allSatisfy { $0.hasPrefix($1) })
    }

    @Test func givesBytesBack() async throws {
        let object = try await tool.run("cache", "get", addresses[1], "-o", "b.png", "--json").object(EntryObject.self)
        #expect(object == EntryObject(key: addresses[1], bytes: pictures[1].count, path: "b.png"))
        #expect(try tool.contents(of: "b.png") == pictures[1])
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
        #expect(removal == RemovalObject(removed: 3, bytes: pictures.map(\.count).reduce(0, +)))
        #expect(try await stats().entries == 0)
        #expect(try await tool.run("get", addresses[0], "--policy", "cacheOnly").status == 1)
    }

    @Test func doesNotCallRemovedWhatIsStillThere() async throws {
        try forbidRemoval()
        let removal = try await tool.run("cache", "remove", addresses[0], addresses[1], "--json")
        #expect(removal.status == 1)
        #expect(try removal.objects(EntryObject.self).map { $0.error?.code } == [401, 401])
        #expect(addresses.prefix(2).allSatisfy { removal.errors.contains("\($0): ") }, "\(removal.errors)")
        for arguments in [["clear"], ["trim", "0"]] {
            let run = try await tool.run(["cache", "--json"] + arguments)
            #expect(run.status == 1)
            #expect(try run.object(RemovalObject.self) == RemovalObject(removed: 0, bytes: 0))
            #expect(run.errors.contains("refused"))
        }
        #expect(try await stats().entries == 3)
    }

    @Test func trimsTheLeastRecentlyUsedFirst() async throws {
        #expect(try await tool.run("cache", "trim", "--json").object(RemovalObject.self).removed == 0)
        // The first is used again, so that the second is the oldest.
        #expect(try await tool.run("get", addresses[0]).status == 0)
        let room = pictures[0].count + pictures[2].count
        let removal = try await tool.run("cache", "trim", "\(room)", "--json").object(RemovalObject.self)
        #expect(removal == RemovalObject(removed: 1, bytes: pictures[1].count))
        let keys = try await tool.run("cache", "list", "--json").objects(EntryObject.self).map(\.key)
        #expect(keys == [addresses[0], addresses[2]])
    }

    @Test func failsWhereNoCacheCanBe() async throws {
        let blocked = try tool.write(Data("x".utf8), to: "blocked")
        let run = try await tool.run("cache", "stats", "--cache-dir", blocked)
        #expect(run.status == 1)
        #expect(run.errors.contains(blocked))
    }
}
