import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// Texts of servers, files and stores in the output of real runs.
@Suite(.timeLimit(.minutes(3))) struct PrintedTextTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// What a terminal would interpret, besides the line breaks of the tool.
    private static let evil = "\u{1B}[31mX\u{9B}31m\u{202E}\u{2066}\u{200F}\u{61C}\u{2028}\u{2029}\u{7F}\u{85}"

    private static let escapedEvil =
        #"\u001B[31mX\u009B31m\u202E\u2066\u200F\u061C\u2028\u2029\u007F\u0085"#

    /// Expects that both outputs are UTF-8 in lines, and contain no control character.
    private func expectSafe(_ run: ToolRun, linesOfErrors: Int? = nil) throws {
        for data in [run.outputData, run.errorData] {
            let text = try #require(String(validating: data, as: UTF8.self))
            let unsafe = text.unicodeScalars.filter { scalar in
                let value = scalar.value
                return value < 0x20 && scalar != "\n" || (0x7F...0x9F).contains(value) || value == 0x61C
                    || (0x200E...0x200F).contains(value) || (0x2028...0x202E).contains(value)
                    || (0x2066...0x2069).contains(value)
            }
            #expect(unsafe.isEmpty, "\(text)")
        }
        for line in run.errors.split(separator: "\n") { #expect(line.hasPrefix("webimage: "), "\(line)") }
    }

    @Test(arguments: ["Content-Encoding", "Location", "WWW-Authenticate", "ETag", "Vary"])
    func escapesHeaders(name: String) async throws {
        let faults = try FaultServer()
        let header = try #require(
            "\(name): ftp://h/\(Self.evil)".addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let code = ["Location": 302, "WWW-Authenticate": 401][name] ?? 200
        let address = try faults.url("/answer/a?code=\(code)&header=\(header)").absoluteString
        for arguments in [
            ["get"], ["get", "--json"], ["get", "--explain"], ["get", "--explain", "--json"], ["info"],
        ] {
            let run = try await tool.run(arguments + [address])
            #expect(run.status == 1)
            try expectSafe(run)
            if name == "Content-Encoding" {
                #expect(run.errors.contains("ftp://h/" + Self.escapedEvil.replacing("X", with: "x")), "\(run.errors)")
            }
        }
    }

    @Test func escapesAContentType() async throws {
        let server = try NGINXServer(
            locations: "location / { default_type \"text/\(Self.evil)\"; return 200 'no image'; }")
        let address = try server.url("/a").absoluteString
        for arguments in [["get"], ["info", "--json"], ["get", "--explain", "--json"]] {
            let run = try await tool.run(arguments + [address])
            try expectSafe(run)
            #expect(run.status == 1 && run.errors.contains("declares text/\(Self.escapedEvil)"), "\(run.errors)")
        }
    }

    @Test func escapesTheErrorOfAStore() async throws {
        let server = try NGINXServer(
            locations: """
                location /bucket { default_type application/xml; \
                return 403 "<Error><Code>No&#27;\(Self.evil.dropFirst())</Code><Message>x</Message></Error>"; }
                """)
        try server.write(TestImage().data(.png), to: "a.png")
        let shared = "s3://bucket/p?endpoint=http://127.0.0.1:\(server.port)&style=path&region=r"
        let run = try await tool.run(
            "get", "--no-cache", "--explain", "--shared", shared, server.url("/a.png").absoluteString)
        try expectSafe(run)
        #expect(run.status == 0 && run.output.contains("shared cache: "), "\(run.output)")
        let list = try await tool.run("cache", "list", "--shared", shared)
        try expectSafe(list)
        #expect(list.status == 1)
    }

    /// A line break in a name does not begin a line, and the file is still found.
    @Test func escapesFileNames() async throws {
        let name = "a\n\(Self.evil)"
        _ = try tool.write(TestImage().data(.png), to: name + ".png")
        for arguments in [
            ["info"], ["info", "--json"], ["get"], ["get", "--json"], ["get", "--explain"],
            ["get", "-o", name + ".webp"], ["get", "-o", name + "/"], ["get", "-o", name + ".xyz"],
            ["convert", "--json", "-o", name + "2/"], ["convert", "-o", name + "3/"],
        ] {
            let run = try await tool.run(arguments + [name + ".png"])
            try expectSafe(run)
            #expect(run.status == 0, "\(run.errors)")
            if !arguments.contains("--explain") {
                #expect(run.output.split(separator: "\n").count == 1, "\(run.output)")
            }
            #expect(run.output.contains(#"a\n"# + Self.escapedEvil + ".png"), "\(run.output)")
        }
        for arguments in [["info"], ["get", "--json"], ["convert", "-o", "d/"], ["cache", "stats", "--cache-dir"]] {
            let run = try await tool.run(arguments + ["no" + name])
            try expectSafe(run)
            #expect(run.status == 1 && run.errors.contains(#"noa\n"# + Self.escapedEvil + ": "), "\(run.errors)")
        }
    }

    @Test func escapesArgumentsInUsageErrors() async throws {
        let evil = "a\n" + Self.evil
        for arguments in [
            [evil], ["--" + evil], ["get", "--" + evil, "a"], ["get", "--size", evil, "a"], ["help", evil],
            ["get", "--policy", evil, "a"], ["get", "--header", evil, "a"], ["cache", evil], ["cache", "trim", evil],
            ["get", "http://h:" + evil], ["convert", "http://h/" + evil, "a.png"], ["convert", "a.png", evil],
        ] {
            let run = try await tool.run(arguments)
            try expectSafe(run)
            #expect(run.status == 2 && run.errors.contains(#"a\n\u001B[31mX"#), "\(run.errors)")
        }
    }

    /// Custom loaders and filters choose keys.
    @Test func printedKeysAreFound() async throws {
        let directory = tool.path("own")
        let cache = DiskCache(configuration: DiskCache.Configuration(directory: URL(filePath: directory)))
        let keys = ["key" + Self.evil, #"key\u009B\\"#, "key\u{9B}"].map { ImageCacheKey(source: $0).description }
        for (number, key) in keys.enumerated() { cache.store(Data([UInt8(number)]), for: key) }
        await cache.flush()
        let list = try await tool.run("cache", "list", "--cache-dir", directory)
        try expectSafe(list)
        let objects = try await tool.run("cache", "list", "--json", "--cache-dir", directory)
        try expectSafe(objects)
        #expect(try objects.objects(EntryObject.self).map(\.key) == keys)
        let lines = list.output.split(separator: "\n")
        try #require(lines.count == keys.count)
        for (number, line) in lines.enumerated() {
            let key = String(try #require(line.firstRange(of: ": 1 ").map { line[..<$0.lowerBound] }))
            let run = try await tool.run("cache", "get", key, "-o", "\(number)", "--cache-dir", directory)
            try expectSafe(run)
            #expect(try tool.contents(of: "\(number)") == Data([UInt8(number)]))
            let removal = try await tool.run("cache", "remove", key, "--cache-dir", directory)
            try expectSafe(removal)
            #expect(removal.status == 0, "\(removal.errors)")
        }
        #expect(try await tool.run("cache", "list", "--cache-dir", directory).output.isEmpty)
    }

    @Test(arguments: ["me:secret", "me:se'cret", "me:se%40cret", "secret"])
    func neverPrintsPasswords(credential: String) async throws {
        let server = try NGINXServer()
        try server.write(TestImage().data(.png), to: "a.png")
        let options = [[], ["--json"], ["-o", "o.png"], ["--json", "--explain"], ["--policy", "cacheOnly"]]
        let commands = options.map { ["get"] + $0 } + [["info"], ["info", "--json"]]
        for path in ["a.png", "missing.png"] {
            let shown = "http://127.0.0.1:\(server.port)/\(path)"
            for command in commands {
                let run = try await tool.run(command + ["http://\(credential)@127.0.0.1:\(server.port)/\(path)"])
                #expect(!run.output.contains("cret") && !run.errors.contains("cret"), "\(run)")
                #expect(run.output.contains(shown) || run.errors.contains(shown), "\(run)")
                // It is named once.
                #expect(!run.errors.contains("\(shown): \(shown)"), "\(run.errors)")
            }
        }
        let port = server.port
        for address in [
            "http://\(credential)@127.0.0.1:\(port)9999/a", "http://\(credential)@/a", "ftp://\(credential)@h/a",
        ] {
            let run = try await tool.run("get", "--json", address)
            #expect(run.status != 0 && !run.output.contains("cret") && !run.errors.contains("cret"), "\(run)")
        }
        let list = try await tool.run("cache", "list", "--json")
        #expect(list.status == 0 && !list.output.contains("cret"))
    }
}
