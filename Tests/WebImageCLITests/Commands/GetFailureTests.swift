import Foundation
import Testing
import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct GetFailureTests {
    let tool: Tool
    let faults: FaultServer

    init() throws {
        tool = try Tool()
        faults = try FaultServer()
    }

    /// Expects that `address` fails with `code`, is named on standard error, and leaves no file and no entry.
    private static func expectFailure(_ address: String, code: Int, of tool: Tool) async throws {
        let run = try await tool.run("get", "--json", "--timeout", "2", address, "-o", "out.png")
        #expect(run.status == 1, "\(address)")
        let object = try run.object(LoadObject.self)
        #expect(object.url == address)
        #expect(object.source == "none", "\(address)")
        let error = try #require(object.error, "\(address)")
        #expect(error.code == code, "\(address): \(error)")
        #expect(run.errors.contains(error.message), "\(address)")
        #expect([object.format, object.path] == [nil, nil], "\(address)")
        #expect(tool.names(in: ".").allSatisfy { !$0.hasPrefix("out.png") }, "\(address)")
        let stats = try await tool.run("cache", "stats", "--json")
        #expect(
            try stats.errors.contains("there is no cache") || stats.object(StatsObject.self).entries == 0, "\(address)")
    }

    private func expectFailure(_ address: String, code: Int) async throws {
        try await Self.expectFailure(address, code: code, of: tool)
    }

    @Test func reportsServerErrors() async throws {
        let errors = [
            ("/status/a?code=404", 200), ("/status/a?code=500", 200), ("/html/a", 300), ("/empty/a", 205),
            ("/cut-body/a", 204), ("/cut-chunked/a", 204), ("/short-length/a?size=100&sent=50", 204),
            ("/redirect-loop/a", 203), ("/stall-headers/a", 202), ("/stall-body/a", 202), ("/bytes/a", 300),
        ]
        _ = try await errors.concurrentMap { [faults] path, code in
            try await Self.expectFailure(faults.url(path).absoluteString, code: code, of: Tool())
        }
    }

    @Test func retriesAsOftenAsRequested() async throws {
        for (path, retries) in [("/status/never?code=503", "0"), ("/status/once?code=503", "1")] {
            _ = try await tool.run("get", "--retries", retries, faults.url(path).absoluteString)
        }
        let requests = try await faults.statistics().requests
        #expect(requests["/status/never"] == 1 && requests["/status/once"] == 2)
    }

    @Test func keepsToTheTimeLimits() async throws {
        let limits = [
            (["get", "--max-time", "1"], "/drip/max-time?size=1000", "--max-time"),
            (["info", "--max-time", "1"], "/drip/max-time?size=1000", "--max-time"),
            (["get", "--idle-timeout", "1"], "/stall-body/idle", "--idle-timeout"),
            (["info", "--idle-timeout", "1", "--max-time", "60"], "/stall-body/idle", "--idle-timeout"),
        ]
        _ = try await limits.concurrentMap { [faults] arguments, path, option in
            let run = try await Tool().run(arguments + [faults.url(path).absoluteString])
            #expect(run.status == 1, "\(arguments)")
            #expect(run.errors.contains("1 s") && run.errors.contains(option), "\(arguments): \(run.errors)")
        }
    }

    @Test func reportsAHostThatCannotBeReached() async throws {
        // Nothing listens on port 1 of this machine.
        try await expectFailure("http://127.0.0.1:1/a.png", code: 201)
    }

    @Test func reportsAResponseThatIsNotAnImage() async throws {
        let root = try TemporaryDirectory()
        let server = try NGINXServer(root: root.path)
        let imageData = try TestImage().data(.png)
        try root.write(imageData.prefix(imageData.count / 2), to: "truncated.png")
        try root.write(TestImage.damaged(), to: "damaged.png")
        try root.write(TestImage.claimingTooMuch(), to: "claim.jpg")
        try await expectFailure(server.url("/truncated.png").absoluteString, code: 301)
        try await expectFailure(server.url("/damaged.png").absoluteString, code: 301)
        try await expectFailure(server.url("/claim.jpg").absoluteString, code: 303)
        try await expectFailure(server.url("/page.html").absoluteString, code: 300)
        try await expectFailure(server.url("/missing.png").absoluteString, code: 200)
    }

    @Test func reportsInvalidURLsAndMissingFiles() async throws {
        try await expectFailure("ftp://127.0.0.1/a.png", code: 101)
        try await expectFailure(tool.path("missing.png"), code: 207)
    }

    /// Nothing is loaded, not even the valid ones.
    @Test func aMalformedURLIsAnInvalidArgument() async throws {
        let valid = try faults.url("/bytes/valid?size=10").absoluteString
        let addresses = [
            "http://", "http:///a.png", "http://exa mple/a.png", "http://h:99999/a.png", "http://h:port/a.png",
            "http://[::1/a.png", "https:/127.0.0.1/a.png", "http:a.png", "127.0.0.1:80/a.png", "", "data:image/png",
            "file://elsewhere/a.png",
        ]
        let cases = addresses.flatMap { address in
            ["get", "info"].flatMap { command in
                [[address], [valid, address, "--json"]].map { (command, $0, address) }
            }
        }
        _ = try await cases.concurrentMap { [tool] command, arguments, address in
            let run = try await tool.run([command] + arguments)
            #expect(run.status == 2 && run.output.isEmpty, "\(command) \(arguments)")
            #expect(run.errors.hasSuffix("\nwebimage: See 'webimage \(command) --help'.\n"), "\(arguments)")
            #expect(run.errors.contains("no URL was given") || run.errors.contains(address), "\(run.errors)")
        }
        #expect(try await faults.statistics().requests["/bytes/valid"] == nil)
    }

    @Test func continuesAfterAFailure() async throws {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        let run = try await tool.run("get", tool.path("missing.png"), path)
        #expect(run.status == 1)
        #expect(run.output.contains("a.png: png"))
        #expect(run.errors.contains("missing.png: No such file"))
    }

    @Test(arguments: [
        ("127.0.0.1:8091/a.jpg", "Did you mean http://127.0.0.1:8091/a.jpg?"),
        ("www.example.org", "Did you mean https://www.example.org?"),
        ("localhost:80", "Did you mean http://localhost:80?"), ("", "no URL was given."),
        ("folder.d/a.jpg", "folder.d/a.jpg: No such file or directory."),
    ])
    func suggestsAURLForAnInvalidOne(text: String, message: String) async throws {
        let run = try await tool.run("get", text)
        #expect(run.status == (text == "folder.d/a.jpg" ? 1 : 2) && run.errors.contains(message), "\(run.errors)")
    }

    @Test func namesAnEmptyFileOnce() async throws {
        let path = try tool.write(Data(), to: "empty.png")
        let run = try await tool.run("get", "file://" + path)
        #expect(run.errors == "webimage: file://\(path): the file is empty.\n")
    }

    @Test(arguments: ["get", "info"]) func describesAFileThatIsNotAnImage(command: String) async throws {
        _ = try tool.write(Data("hi\n".utf8), to: "t.txt")
        let run = try await tool.run(command, "t.txt", "--json")
        let message = "t.txt: the data is not an image in a known format; it begins with 68 69 0a."
        #expect(run.errors == "webimage: \(message)\n")
        #expect(run.output.contains(message))
    }

    @Test func failsIfTheOutputCannotBeWritten() async throws {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        let run = try await tool.run("get", "--json", path, "-o", "a.png/b.png")
        #expect(run.status == 1)
        #expect(try run.object(LoadObject.self).error?.code == 207)
    }

    @Test func continuesWithoutACacheAndReportsItOnce() async throws {
        let root = try TemporaryDirectory()
        let server = try NGINXServer(root: root.path)
        for number in 0..<3 { try root.write(TestImage(number: number).data(.png), to: "\(number).png") }
        // A file is in place of the directory, so that even root cannot write there.
        let blocked = try tool.write(Data("x".utf8), to: "blocked")
        let addresses = try (0..<3).map { try server.url("/\($0).png").absoluteString }
        let run = try await tool.run(["get", "--cache-dir", blocked] + addresses)
        #expect(run.status == 0)
        #expect(run.output.split(separator: "\n").count == 3)
        #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
        #expect(run.errors.contains(blocked))
    }

    @Test func replacesADamagedIndex() async throws {
        let root = try TemporaryDirectory()
        let server = try NGINXServer(root: root.path)
        try root.write(TestImage().data(.png), to: "a.png")
        let arguments = ["get", "--json", "--cache-dir", tool.path("cache"), try server.url("/a.png").absoluteString]
        _ = try await tool.run(arguments)
        let index = try #require(tool.names(in: "cache").first { $0.contains("index") })
        for name in tool.names(in: "cache") where name.hasPrefix(index) && name != index {
            try FileManager.default.removeItem(atPath: tool.path("cache/" + name))
        }
        _ = try tool.write(Data(repeating: 0x5A, count: 100_000), to: "cache/" + index)

        let run = try await tool.run(arguments)
        #expect(run.status == 0)
        #expect(try run.object(LoadObject.self).source == "network")
        #expect(run.errors.contains("damaged index"))
        let next = try await tool.run(arguments)
        #expect(try next.object(LoadObject.self).source == "disk")
        #expect(next.errors.isEmpty)
    }

    @Test(arguments: [
        "user:secret@host/a.jpg", "user:secret@example.org/a.jpg", "user:sec:ret@host", "user:@host/a.jpg",
        "user:p@secret@host/a.jpg",
    ])
    func aHostWithAPasswordIsNoFile(text: String) async throws {
        for arguments in [["get", text], ["info", "--json", text], ["convert", text, "out.png"]] {
            let run = try await tool.run(arguments)
            #expect(run.status == 2, "\(run.errors)")
            #expect(!(run.errors + run.output).contains("sec"), "\(run.errors)\(run.output)")
        }
        // A file may have such a name.
        _ = try tool.write(TestImage().data(.png), to: "a:b@c.png")
        #expect(try await tool.run("info", "a:b@c.png").status == 0)
    }
}
