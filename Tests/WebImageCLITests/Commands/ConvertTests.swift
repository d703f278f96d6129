import Foundation
import Testing
import WebImage

@Suite struct ConvertTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test(arguments: [("a.png", "png"), ("a.JPG", "jpeg"), ("a.jpeg", "jpeg"), ("a.webp", "webp")])
    func takesTheFormatFromTheName(name: String, format: String) async throws {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        let run = try await tool.run("convert", "--json", input, name)
        #expect(run.status == 0, "\(run.errors)")
        let object = try run.object(ConversionObject.self)
        let data = try tool.contents(of: name)
        #expect(object.path == name)
        #expect(object.format == format)
        #expect([object.width, object.height, object.bytes] == [64, 48, data.count])
        let decoded = try CodecRegistry.shared.decode(data)
        #expect(decoded.format?.name == format)
        #expect(largestDifference(decoded, try TestImage().image()) < (format == "png" ? 1 : 40))
    }

    @Test func theFormatOptionTakesPrecedenceOverTheName() async throws {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        #expect(try await tool.run("convert", input, "out.png", "--format", "jpeg").status == 0)
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "out.png")).format == .jpeg)
    }

    @Test(arguments: [
        ("20x20", "fit", 20, 15), ("20x20", "fill", 27, 20), ("20x20", "stretch", 20, 20), ("32x", "fit", 32, 24),
    ])
    func scales(size: String, mode: String, width: Int, height: Int) async throws {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        #expect(try await tool.run("convert", input, "out.png", "--size", size, "--mode", mode).status == 0)
        let info = try CodecRegistry.shared.info(of: tool.contents(of: "out.png"))
        #expect(info.size == PixelSize(width: width, height: height))
    }

    @Test func writesSmallerFilesAtLowerQuality() async throws {
        let input = try tool.write(TestImage(width: 256, height: 256).data(.png), to: "in.png")
        #expect(try await tool.run("convert", input, "low.jpg", "--quality", "10").status == 0)
        #expect(try await tool.run("convert", input, "high.jpg", "--quality", "95").status == 0)
        #expect(try tool.contents(of: "low.jpg").count < tool.contents(of: "high.jpg").count)
    }

    @Test func canReplaceItsInput() async throws {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        #expect(try await tool.run("convert", input, input, "--size", "8x6").status == 0)
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "in.png")).size == PixelSize(width: 8, height: 6))
    }

    @Test func keepsTheExistingOutputWhenItFails() async throws {
        let old = Data("old".utf8)
        let output = try tool.write(old, to: "out.png")
        let input = try tool.write(TestImage.damaged(), to: "in.png")
        let run = try await tool.run("convert", "--json", input, output)
        #expect(run.status == 1)
        let object = try run.object(ConversionObject.self)
        #expect(object.error?.code == 301)
        #expect(object.path == nil)
        #expect(run.errors.contains("in.png"))
        #expect(try tool.contents(of: "out.png") == old)
        #expect(tool.names(in: ".").filter { $0.hasPrefix("out") } == ["out.png"])
    }
}
