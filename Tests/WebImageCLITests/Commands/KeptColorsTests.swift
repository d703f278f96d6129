import CodingTestSupport
import Foundation
import Testing
import WebImage
import WebImageCoding

/// `--metadata all` keeps the colors of a profile, with the profile.
@Suite(.timeLimit(.minutes(3))) struct KeptColorsTests {
    private let tool: Tool
    private let registry = CodecRegistry.shared
    private let original: Data

    init() throws {
        tool = try Tool()
        original = try Data(
            contentsOf: Fixture.directory.deletingLastPathComponent().appending(path: "color/p3.jpg"))
    }

    private func decoded(_ name: String) throws -> Pixels {
        try Pixels(registry.decode(tool.contents(of: name)).pixels)
    }

    @Test(
        arguments: [("out.jpg", ["--quality", "100"]), ("out.png", []), ("out.webp", ["--lossless"])],
        [[], ["--size", "40"]])
    func displayP3StaysDisplayP3(output: (name: String, options: [String]), options: [String]) async throws {
        let name = output.name
        let input = try tool.write(original, to: "in.jpg")
        let command = ["convert", input, name, "--metadata", "all"] + output.options + options
        #expect(try await tool.run(command).status == 0)
        let file = try tool.contents(of: name)
        #expect(try registry.colorProfile(of: file) == registry.colorProfile(of: original))
        #expect(try await tool.run(["convert", input, "srgb.png"] + options).status == 0)
        #expect(try registry.colorProfile(of: tool.contents(of: "srgb.png")) == nil)
        let (kept, converted) = try (decoded(name), decoded("srgb.png"))
        #expect(try #require(kept.psnr(against: converted)) > 38)
        // The stored numbers are others.
        var decoding = DecodingOptions()
        decoding.keepsColors = true
        let stored = try Pixels(registry.decode(file, options: decoding).pixels)
        #expect(try #require(stored.psnr(against: converted)) < 38)
    }

    @Test func getKeepsThem() async throws {
        let input = try tool.write(original, to: "in.jpg")
        #expect(
            try await tool.run("get", input, "-o", "out.png", "--format", "png", "--metadata", "all").status == 0)
        #expect(try registry.colorProfile(of: tool.contents(of: "out.png")) == registry.colorProfile(of: original))
    }

    @Test(.enabled(if: CodecRegistry.shared.canEncode(.jpeg2000), "needs OpenJPEG"))
    func aFormatWithoutProfilesIsSRGB() async throws {
        let input = try tool.write(original, to: "in.jpg")
        let run = try await tool.run("convert", input, "out.jp2", "--metadata", "all", "--lossless")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try await tool.run("convert", input, "srgb.png").status == 0)
        #expect(try decoded("out.jp2") == decoded("srgb.png"))
    }
}
