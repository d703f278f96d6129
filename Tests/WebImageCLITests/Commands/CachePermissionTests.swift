import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// `cache` with a cache that this user may not change, or not even read.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Tool.canBeAStranger, "needs to become another user"))
struct CachePermissionTests {
    let tool: Tool
    let directory: String
    static let key = "http://127.0.0.1/a.png"

    init() async throws {
        tool = try Tool()
        directory = tool.path("cache")
        let cache = DiskCache(configuration: DiskCache.Configuration(directory: URL(filePath: directory)))
        cache.store(Data("bytes".utf8), for: Self.key)
        await cache.flush()
    }

    /// - Parameter bits: the permissions of a directory; a file has them without execution.
    private func restrict(to bits: Int) throws {
        chmod(tool.directory.path, 0o755)
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) + [""] {
            let path = directory + "/" + name
            var isDirectory = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            chmod(path, mode_t(isDirectory ? bits : bits & 0o666))
        }
    }

    @Test(arguments: [
        (["clear"], "changed"), (["trim", "0"], "changed"), (["trim"], "changed"), (["remove", key], "changed"),
        (["stats"], "opened"), (["list"], "opened"),
    ])
    func saysThatItHasNoPermission(action: [String], problem: String) async throws {
        // Root is another user; everyone else is the owner.
        for bits in [0o555, 0o700] where geteuid() == 0 || bits == 0o555 {
            try restrict(to: bits)
            for arguments in [[], ["--json"]] {
                let run = try await tool.run(asStranger: ["cache", "--cache-dir", directory] + action + arguments)
                #expect(run.status == 1)
                #expect(run.errors.hasPrefix("webimage: \(directory): the cache cannot be \(problem)"))
                #expect(run.errors.hasSuffix("Permission denied.\n") && run.errors.split(separator: "\n").count == 1)
                #expect(
                    arguments.isEmpty ? run.output.isEmpty : !run.output.contains("load without it"), "\(run.output)")
                if ["clear", "trim"].contains(action[0]), !arguments.isEmpty {
                    let object = try run.object(RemovalObject.self)
                    #expect(object.removed == 0 && object.error?.message.contains("Permission denied") == true)
                }
            }
        }
        try restrict(to: 0o755)
        let list = try await tool.run("cache", "list", "--json", "--cache-dir", directory)
        #expect(try list.objects(EntryObject.self).map(\.key) == [Self.key])
    }

    @Test func getSaysThatItCannotRead() async throws {
        try restrict(to: 0)
        let run = try await tool.run(asStranger: ["cache", "get", Self.key, "-o", "-", "--cache-dir", directory])
        try restrict(to: 0o755)
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.errors == "webimage: \(directory): the cache cannot be read: Permission denied.\n")
    }
}
