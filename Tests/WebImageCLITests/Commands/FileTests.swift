import Foundation
import Testing
import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct FileTests {
    let tool: Tool
    let root: TemporaryDirectory
    let server: NGINXServer

    init() throws {
        tool = try Tool()
        root = try TemporaryDirectory()
        server = try NGINXServer(root: root.path)
    }

    /// A line of `--json`.
    private struct FileObject: Decodable {
        let url: String
        let path: String?
        let uri: String?
        let format: String?
        let bytes: Int?
        let error: ErrorObject?
    }

    private func url(_ path: String) throws -> String { try server.url(path).absoluteString }

    private func lines(_ arguments: String...) async throws -> [String] {
        let run = try await tool.run(["file"] + arguments)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        return run.output.split(separator: "\n").map(String.init)
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    @Test func thePathLeadsToTheOriginalBytes() async throws {
        let data = try TestImage().data(.jpeg)
        try root.write(data, to: "a.jpg")
        let paths = try await lines(url("/a.jpg"))
        #expect(paths.count == 1 && paths[0].hasPrefix("/") && paths[0].hasSuffix(".jpg"))
        #expect(try bytes(paths[0]) == data)
        #expect(try await lines(url("/a.jpg")) == paths)
        #expect(try await lines("--uri", url("/a.jpg")) == ["file://" + paths[0]])
        #expect(try await server.accessLog().count == 1)
    }

    @Test func theFileHasTheSizeAndTheFormat() async throws {
        try root.write(TestImage().data(.jpeg), to: "a.jpg")
        let paths = try await lines("--size", "32", "--format", "png", "--cache-dir", "small", url("/a.jpg"))
        #expect(paths[0].hasPrefix(tool.path("small/files/")) && paths[0].hasSuffix(".png"))
        let image = try CodecRegistry.shared.decode(bytes(paths[0]))
        #expect(image.format == .png && image.pixels.size == PixelSize(width: 32, height: 24))
        let modified = try FileManager.default.attributesOfItem(atPath: paths[0])[.systemFileNumber] as? Int
        #expect(try await lines("--size", "32", "--format", "png", "--cache-dir", "small", url("/a.jpg")) == paths)
        let again = try FileManager.default.attributesOfItem(atPath: paths[0])[.systemFileNumber] as? Int
        #expect(modified == again)
        #expect(try await lines("--size", "32", "--quality", "10", url("/a.jpg"))[0].hasSuffix(".jpg"))
    }

    @Test func eachInputHasALine() async throws {
        try root.write(TestImage().data(.png), to: "a.png")
        let file = try tool.write(TestImage().data(.gif), to: "b.gif")
        let run = try await tool.run("file", "--json", url("/a.png"), url("/missing.png"), file)
        #expect(run.status == 1 && run.errors.contains("missing.png"))
        let objects = try run.objects(FileObject.self)
        #expect(objects.map(\.format) == ["png", nil, "gif"])
        #expect(objects.map { $0.error == nil } == [true, false, true])
        #expect(objects[1].path == nil && objects[1].uri == nil && objects[1].bytes == nil)
        #expect(try bytes(#require(objects[2].path)).count == objects[2].bytes)
        #expect(objects[2].uri == objects[2].path.map { "file://" + $0 })
    }

    @Test func filesLeaveWithTheCache() async throws {
        try root.write(TestImage().data(.png), to: "a.png")
        try root.write(TestImage().data(.png), to: "b.png")
        let paths = try await lines(url("/a.png"), url("/b.png"))
        #expect(try await tool.run("cache", "remove", url("/a.png")).status == 0)
        #expect(!FileManager.default.fileExists(atPath: paths[0]) && FileManager.default.fileExists(atPath: paths[1]))
        #expect(try await tool.run("cache", "clear").status == 0)
        #expect(!FileManager.default.fileExists(atPath: paths[1]))
    }
}
