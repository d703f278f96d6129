import CodingTestSupport
import Foundation
import Testing
import WebImage

@testable import WebImageCoding

/// `--metadata all` keeps gain maps.
@Suite(.timeLimit(.minutes(3))) struct GainMapTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private func map(in name: String) throws -> GainMap? {
        let data = try tool.contents(of: name)
        let registry = CodecRegistry.shared
        return try registry.gainMap(of: data)
    }

    private func size(_ width: Int, _ height: Int) -> PixelSize { PixelSize(width: width, height: height) }

    @Test(arguments: [
        ([], 64, 48, 16, 12), (["--size", "32"], 32, 24, 8, 6), (["--crop", "32x24+16+8"], 32, 24, 8, 6),
        (["--crop", "1:1", "--size", "24", "--rotate", "90"], 24, 24, 6, 6),
        (["--flip", "h"], 64, 48, 16, 12), (["--max-bytes", "6K"], 64, 48, 16, 12),
    ])
    func aMapFollowsItsImage(options: [String], width: Int, height: Int, mapWidth: Int, mapHeight: Int) async throws {
        let input = try tool.write(GainMapFiles.ultraHDR(), to: "in.jpg")
        let run = try await tool.run(["convert", input, "out.jpg", "--metadata", "all"] + options)
        #expect(run.status == 0, "\(run.errors)")
        let map = try #require(try map(in: "out.jpg"))
        #expect(map.imageSize == size(width, height) && map.pixels.size == size(mapWidth, mapHeight))
        #expect(map.metadata.channels[0].maximum.value == 3)
    }

    @Test(arguments: [
        ["--metadata", "none"], [], ["--metadata", "all", "--blur", "2"], ["--metadata", "all", "--round", "5"],
    ])
    func otherOptionsDropIt(options: [String]) async throws {
        let input = try tool.write(GainMapFiles.ultraHDR(), to: "in.jpg")
        #expect(try await tool.run(["convert", input, "out.jpg"] + options).status == 0)
        #expect(try map(in: "out.jpg") == nil)
    }

    @Test func theImageIsTheSameAsWithoutMetadata() async throws {
        let input = try tool.write(GainMapFiles.ultraHDR(), to: "in.jpg")
        let options = ["--crop", "1:1", "--gravity", "smart", "--size", "40", "--enlarge", "--grayscale"]
        #expect(try await tool.run(["convert", input, "all.png", "--metadata", "all"] + options).status == 0)
        #expect(try await tool.run(["convert", input, "none.png"] + options).status == 0)
        let images = try ["all.png", "none.png"].map { try CodecRegistry.shared.decode(tool.contents(of: $0)) }
        #expect(largestDifference(images[0], images[1]) == 0)
    }

    @Test func getKeepsIt() async throws {
        let input = try tool.write(GainMapFiles.ultraHDR(), to: "in.jpg")
        let run = try await tool.run("get", input, "-o", "out.jpg", "--metadata", "all", "--size", "32")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try map(in: "out.jpg")?.pixels.size == size(8, 6))
    }

    @Test(.enabled(if: CodecRegistry.shared.canEncode(.avif), "needs libavif")) func avifKeepsIt() async throws {
        let input = try tool.write(GainMapFiles.ultraHDR(), to: "in.jpg")
        let run = try await tool.run("convert", input, "a.avif", "--metadata", "all")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try await tool.run("info", "a.avif").output.contains("gain map"))
        #expect(try await tool.run("convert", "a.avif", "b.jpg", "--metadata", "all", "--rotate", "270").status == 0)
        let map = try #require(try map(in: "b.jpg"))
        #expect(map.imageSize == size(48, 64) && map.pixels.size == size(12, 16))
    }
}
