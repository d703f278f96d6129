import Foundation
import Testing
import WebImage

@Suite(.timeLimit(.minutes(3))) struct ConvertAnimationTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private func animation() throws -> Data {
        var animation = EncodableAnimation(loopCount: 3)
        for number in 0..<3 {
            animation.append(try TestImage(number: number).image(), duration: Double(number + 1) / 10)
        }
        return try CodecRegistry.shared.encode(animation, as: .png)
    }

    private func info(_ name: String) throws -> ImageInfo { try CodecRegistry.shared.info(of: tool.contents(of: name)) }

    @Test(arguments: ["gif", "png", "webp"])
    func keepsAnAnimationAnimated(format: String) async throws {
        let input = try tool.write(animation(), to: "in.png")
        let run = try await tool.run("convert", "--json", input, "out.\(format)", "--size", "32x")
        #expect(run.status == 0, "\(run.errors)")
        let object = try run.object(ConversionObject.self)
        #expect([object.width, object.height, object.frames] == [32, 24, 3])
        let info = try info("out.\(format)")
        #expect(info.frameDurations == [0.1, 0.2, 0.3])
        #expect(info.loopCount == 3)
    }

    /// What an animation says about alpha is about its first frame.
    @Test(arguments: ["avif", "jxl"]) func laterFramesKeepTheirTransparency(format: String) async throws {
        guard try await tool.canWrite(format) else { return }
        var clear = try MutablePixelBuffer(width: 64, height: 48)
        clear.clear()
        var animation = EncodableAnimation()
        animation.append(try TestImage().image(), duration: 0.1)
        animation.append(Image(pixels: clear.freeze(isOpaque: false)), duration: 0.1)
        let input = try tool.write(CodecRegistry.shared.encode(animation, as: .gif), to: "in.gif")
        #expect(try !info("in.gif").hasAlpha)
        for options in [[], ["--isolated"], ["--metadata=all"]] {
            let run = try await tool.run(["convert", input, "out.\(format)"] + options)
            #expect(run.status == 0, "\(run.errors)")
            let copy = try #require(CodecRegistry.shared.decode(tool.contents(of: "out.\(format)")).animation)
            #expect(try copy.makeFrameReader().frame(at: 1, cancellation: nil)[32, 24].w == 0)
        }
    }

    @Test func setsTheRequestedLoopCount() async throws {
        let input = try tool.write(animation(), to: "in.png")
        for (asked, written) in [("0", 0), ("1", 1), ("9", 9)] {
            #expect(try await tool.run("convert", input, "out.gif", "--loop", asked).status == 0)
            #expect(try info("out.gif").loopCount == written)
        }
    }

    @Test(arguments: [("out.png", "--first-frame", nil), ("out.png", "--frame", "2"), ("out.webp", "--frame", "3")])
    func writesOneFrame(name: String, option: String, number: String?) async throws {
        let input = try tool.write(animation(), to: "in.png")
        let lossless = name.hasSuffix("webp") ? ["--lossless"] : []
        let run = try await tool.run(["convert", input, name, option] + [number].compactMap { $0 } + lossless)
        #expect(run.status == 0, "\(run.errors)")
        let frame = try TestImage(number: Int(number ?? "1").map { $0 - 1 } ?? 0).image()
        let copy = try CodecRegistry.shared.decode(tool.contents(of: name))
        #expect(copy.frameCount == 1)
        #expect(largestDifference(copy, frame) == 0)
    }

    @Test func writesTheFirstFrameAsJPEG() async throws {
        let input = try tool.write(animation(), to: "in.png")
        #expect(try await tool.run("convert", input, "out.jpg").status == 0)
        let copy = try CodecRegistry.shared.decode(tool.contents(of: "out.jpg"))
        #expect(largestDifference(copy, try TestImage().image()) < 40)
    }

    @Test func refusesAFrameNumberBeyondTheEnd() async throws {
        let input = try tool.write(animation(), to: "in.png")
        let run = try await tool.run("convert", "--json", input, "out.jpg", "--frame", "4")
        #expect(run.status == 1)
        #expect(run.errors.contains("no frame 4 of 3"))
        #expect(try run.object(ConversionObject.self).error?.code == 302)
        #expect(tool.names(in: ".").contains("out.jpg") == false)
    }

    @Test func keepsToTheMaximumFileSize() async throws {
        let input = try tool.write(TestImage(width: 256, height: 256).data(.png), to: "in.png")
        let run = try await tool.run("convert", "--json", input, "out.jpg", "--max-bytes", "1K")
        #expect(run.status == 0, "\(run.errors)")
        let object = try run.object(ConversionObject.self)
        #expect(try #require(object.bytes) <= 1024)
        #expect(try object.width == info("out.jpg").size.width)
        #expect(try await tool.run("convert", input, "none.jpg", "--max-bytes", "9").status == 1)
    }

    @Test func appliesTheEncodingOptions() async throws {
        let input = try tool.write(TestImage(isOpaque: false).data(.png), to: "in.png")
        let original = try TestImage(isOpaque: false).image()
        #expect(try await tool.run("convert", input, "a.webp", "--lossless", "--effort", "1").status == 0)
        #expect(try largestDifference(CodecRegistry.shared.decode(tool.contents(of: "a.webp")), original) == 0)
        #expect(try await tool.run("convert", input, "a.png", "--level", "9", "--filter", "paeth").status == 0)
        #expect(try largestDifference(CodecRegistry.shared.decode(tool.contents(of: "a.png")), original) == 0)
        let background = ["--background", "#00ff00", "--chroma", "444", "--quality", "100"]
        #expect(try await tool.run(["convert", input, "a.jpg", "--progressive"] + background).status == 0)
        let corner = try CodecRegistry.shared.decode(tool.contents(of: "a.jpg")).pixels[0, 0]
        #expect(abs(Int(corner.y) - 127) < 6 && corner.x < 6)
        #expect(try await tool.run("convert", input, "a.gif", "--dither", "none", "--colors", "16").status == 0)
        #expect(try info("a.gif").format == .gif)
    }

    @Test func getKeepsAnimationsAnimated() async throws {
        let input = try tool.write(animation(), to: "in.png")
        let run = try await tool.run("get", "--no-cache", input, "-o", "out.webp", "--loop", "2", "--lossless")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try info("out.webp").frameCount == 3)
        #expect(try info("out.webp").loopCount == 2)
    }
}
