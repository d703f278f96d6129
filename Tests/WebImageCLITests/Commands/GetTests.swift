import Foundation
import Testing
import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct GetTests {
    let tool: Tool
    let root: TemporaryDirectory
    let server: NGINXServer

    init() throws {
        tool = try Tool()
        root = try TemporaryDirectory()
        server = try NGINXServer(root: root.path)
    }

    private func url(_ path: String) throws -> String { try server.url(path).absoluteString }

    @Test func writesTheServersBytes() async throws {
        let data = try TestImage().data(.jpeg)
        try root.write(data, to: "a.jpg")
        let run = try await tool.run("get", url("/a.jpg"), "-o", "copy.jpg")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.errors.isEmpty)
        #expect(try tool.contents(of: "copy.jpg") == data)
    }

    @Test func printsTheSourceOfAnImage() async throws {
        let data = try TestImage().data(.png)
        try root.write(data, to: "a.png")
        let address = try url("/a.png")
        func sources(_ arguments: String...) async throws -> [String] {
            let run = try await tool.run(["get", "--json", "--concurrency", "1"] + arguments)
            let objects = try run.objects(LoadObject.self)
            for object in objects {
                #expect(object.url == address || object.url == tool.path("a.png"))
                #expect(object.error == nil)
                #expect([object.width, object.height, object.frames] == [64, 48, 1])
                #expect(object.format == "png")
                #expect(object.bytes == (object.source == "memory" ? nil : data.count))
                #expect(object.milliseconds >= 0)
                #expect(object.path == nil)
            }
            return objects.map(\.source)
        }
        #expect(try await sources(address, address) == ["network", "memory"])
        #expect(try await sources(address) == ["disk"])
        #expect(try await sources(address, "--policy", "cacheOnly") == ["disk"])
        #expect(try await sources(address, "--policy", "reload") == ["network"])
        #expect(try await sources(address, "--no-cache") == ["network"])
        #expect(try await sources(address, "--cache-dir", tool.path("other")) == ["network"])
        #expect(try await sources(tool.write(data, to: "a.png")) == ["file"])
        #expect(try await server.accessLog().count == 4)
    }

    @Test func followsTheCachePolicyAndExplainsIt() async throws {
        try root.write(TestImage().data(.png), to: "a.png")
        let address = try url("/a.png")
        #expect(try await tool.run("get", address, "--policy", "http").status == 0)
        let run = try await tool.run("get", address, "--policy", "refresh", "--explain")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains(", disk, "))
        #expect(run.output.contains("transfer: sent If-None-Match: "))
        #expect(run.output.contains("validation: the server confirmed that the stored response is current"))
        #expect(try await server.accessLog().map(\.status) == [200, 304])

        let explained = try await tool.run("get", address, "--policy", "offline", "--explain", "--json")
        let trace = try #require(explained.objects(ExplainedObject.self).first).trace
        #expect(trace.map(\.stage) == ["disk", "policy", "decode"])
        #expect(trace.allSatisfy { $0.start >= 0 && $0.duration >= 0 && !$0.message.isEmpty })

        let failed = try await tool.run("get", url("/none"), "--policy", "cacheOnly", "--explain")
        #expect(failed.status == 1)
        #expect(failed.output.contains("policy: cacheOnly: not allowed to use the network: nothing is stored"))
    }

    private struct ExplainedObject: Decodable {
        struct Entry: Decodable {
            let stage: String, message: String
            let start: Double, duration: Double
        }
        let trace: [Entry]
    }

    @Test func writesTheBytesOfAnImageInMemory() async throws {
        let data = try TestImage().data(.png)
        try root.write(data, to: "a.png")
        let run = try await tool.run(
            "get", url("/a.png"), url("/a.png"), "--concurrency", "1", "--no-cache", "-o", "out")
        #expect(run.status == 0, "\(run.errors)")
        #expect(tool.names(in: "out") == ["a-2.png", "a.png"])
        #expect(try tool.contents(of: "out/a-2.png") == data)
    }

    @Test func writesEachInputToItsOwnFile() async throws {
        let images = try (0..<4).map { try TestImage(number: $0).data(.png) }
        for (index, data) in images.enumerated() { try root.write(data, to: "\(index)/a.png") }
        let addresses = try (0..<4).map { try url("/\($0)/a.png") }
        let run = try await tool.run(["get", "--json", "-o", "new/folder"] + addresses)
        #expect(run.status == 0, "\(run.errors)")
        #expect(tool.names(in: "new/folder") == ["a-2.png", "a-3.png", "a-4.png", "a.png"])
        for object in try run.objects(LoadObject.self) {
            let index = try #require(addresses.firstIndex(of: object.url))
            let path = try #require(object.path)
            #expect(path == "new/folder/" + (index == 0 ? "a.png" : "a-\(index + 1).png"))
            #expect(try tool.contents(of: path) == images[index])
        }
    }

    @Test func neverLeavesTheOutputDirectory() async throws {
        try root.write(TestImage().data(.png), to: "x")
        let server = try NGINXServer(
            root: root.path, locations: "location / { rewrite ^ /x break; }")
        let paths = ["/a%2F..%2Fescaped.png", "/%2Ehidden.png", "/", "/plain"]
        let run = try await tool.run(
            ["get", "-o", "out/"] + paths.map { "http://127.0.0.1:\(server.port)\($0)" })
        #expect(run.status == 0, "\(run.errors)")
        #expect(tool.names(in: ".").filter { $0 != "cache-home" } == ["out"])
        #expect(tool.names(in: "out") == ["escaped.png", "hidden.png", "image.png", "plain.png"])
    }

    @Test func doesNotReplaceAnInputByItsOutput() async throws {
        let data = try TestImage().data(.png)
        let path = try tool.write(data, to: "a.png")
        let run = try await tool.run("get", path, "--size", "8x8", "-o", tool.directory.path)
        #expect(run.status == 1)
        #expect(run.errors.hasSuffix("a.png: File exists. It is the input; choose another name.\n"), "\(run.errors)")
        #expect(try tool.contents(of: "a.png") == data)
    }

    @Test func decodesAtTheRequestedSize() async throws {
        try root.write(TestImage().data(.jpeg), to: "a.jpg")
        let sizes = [
            ("16x16", "fit", 16, 12), ("16", "fill", 16, 16), ("16x16", "stretch", 16, 16), ("x12", "fit", 16, 12),
        ]
        for (size, mode, width, height) in sizes {
            let object = try await tool.run("get", "--json", url("/a.jpg"), "--size", size, "--mode", mode)
                .object(LoadObject.self)
            #expect([object.width, object.height] == [width, height], "\(size) \(mode)")
        }
    }

    @Test func reencodesIfRequested() async throws {
        try root.write(TestImage().data(.png), to: "a.png")
        let source = try TestImage().image()
        func write(_ arguments: String...) async throws -> Image {
            let run = try await tool.run(["get", "--json", try url("/a.png")] + arguments)
            let object = try run.object(LoadObject.self)
            let path = try #require(object.path, "\(run.errors)")
            return try CodecRegistry.shared.decode(tool.contents(of: path.replacing(tool.path(""), with: "")))
        }
        let jpeg = try await write("-o", "b.jpg", "--quality", "95")
        #expect(jpeg.format == .jpeg)
        #expect(largestDifference(jpeg, source) < 24)
        let png = try await write("-o", "c.dat", "--format", "png")
        #expect(png.format == .png)
        #expect(largestDifference(png, source) == 0)
        let small = try await write("-o", "d/", "--size", "32x32")
        #expect(small.format == .png)
        #expect(small.pixels.size == PixelSize(width: 32, height: 24))
        #expect(tool.names(in: "d") == ["a.png"])
        #expect(try await write("-o", "f/", "--quality", "50").format == .jpeg)
        #expect(tool.names(in: "f") == ["a.jpg"])
        // Without any of these, the extension decides.
        #expect(try await write("-o", "e.jpg").format == .jpeg)
    }

    @Test func sendsHeaders() async throws {
        try root.write(TestImage().data(.png), to: "a.png")
        let server = try NGINXServer(
            root: root.path,
            locations: "location /guarded/ { if ($http_x_key != open) { return 403; } alias \(root.path)/; }")
        let address = try server.url("/guarded/a.png").absoluteString
        #expect(try await tool.run("get", address).status == 1)
        #expect(try await tool.run("get", address, "--header", "X-Key: open").status == 0)
    }

    @Test func harmlessHeadersShareACachedImage() async throws {
        let address = try url("/a.png")
        try root.write(TestImage().data(.png), to: "a.png")
        func source(_ version: String, _ options: String...) async throws -> String? {
            let run = try await tool.run(
                [
                    "get", address, "--json", "--cache-dir", tool.path("cache"), "--header",
                    "X-Client-Version: \(version)",
                ]
                    + options)
            return run.output.split(separator: "\"").drop { $0 != "source" }.dropFirst(2).first.map(String.init)
        }
        #expect(try await source("1") == "network")
        #expect(try await source("2") == "network")
        #expect(try await source("3", "--harmless-header", "x-client-*") == "network")
        #expect(try await source("4", "--harmless-header", "X-Client-Version") == "disk")
        #expect(try await source("5", "--harmless-header", "X-Other") == "network")
    }

    @Test func showsNoProgressOutsideATerminal() async throws {
        try root.write(TestImage(width: 400, height: 400).data(.png), to: "a.png")
        let run = try await tool.run("get", url("/slow/a.png"))
        #expect(run.status == 0)
        #expect(run.errors.isEmpty)
        #expect(!run.output.contains("\r"))
    }

    @Test func limitsConcurrentLoads() async throws {
        let faults = try FaultServer()
        let addresses = try (0..<6).map { try faults.url("/drip/a\($0)?size=3&interval=0.2").absoluteString }
        _ = try await tool.run(["get", "--no-cache", "--concurrency", "2"] + addresses)
        let statistics = try await faults.statistics()
        #expect(statistics.requests["/drip"] == 6)
        #expect(statistics.peak["/drip"] == 2)
    }
}
