import Foundation
import Testing
import WebImage

@Suite(.timeLimit(.minutes(3))) struct ConvertTests {
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
        ("20", "fit", 20, 15), ("20x20", "fill", 20, 20), ("20x", "fill", 20, 15), ("20x20", "stretch", 20, 20),
        ("32x", "fit", 32, 24),
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

    @Test(arguments: ["convert", "get"]) func keepsTheMetadataThatIsWanted(command: String) async throws {
        // Little-endian, with orientation 1 and a camera, "Rig".
        let exif = Data(
            [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 2, 0] + [0x0F, 1, 2, 0, 4, 0, 0, 0, 0x52, 0x69, 0x67, 0]
                + [0x12, 1, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0] + [0, 0, 0, 0])
        let metadata = ImageMetadata(exif: exif, xmp: Data("<x:xmpmeta/>".utf8))
        var options = EncodingOptions()
        options.metadata = metadata
        let data = try CodecRegistry.shared.encode(TestImage().image(), as: .jpeg, options: options)
        let input = try tool.write(data, to: "in.jpg")
        for (choice, expected) in [("none", ImageMetadata()), ("all", metadata)] {
            let run =
                command == "get"
                ? try await tool.run("get", input, "-o", "out.jpg", "--metadata", choice)
                : try await tool.run("convert", input, "out.jpg", "--metadata", choice, "--size", "20x20")
            #expect(run.status == 0, "\(run.errors)")
            #expect(try CodecRegistry.shared.metadata(of: tool.contents(of: "out.jpg")) == expected)
        }
        #expect(try await tool.run("convert", input, "color.png", "--metadata", "color").status == 0)
        let color = try CodecRegistry.shared.metadata(of: tool.contents(of: "color.png"))
        #expect(color.exif != nil && color.xmp == nil)
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
