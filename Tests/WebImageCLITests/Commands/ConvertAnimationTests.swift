import Foundation
import Testing
import WebImage

@Suite(.timeLimit(.minutes(3))) struct ConvertAnimationTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private func animation() throws -> Data {
        var animation = EncodableAnimation(loopCount: 3)
        for number in 0..<3 {
            animation.append(try TestImage(number: number).image(), duration: .milliseconds(100 * (number + 1)))
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
        #expect(info.frameDurations == [.milliseconds(100), .milliseconds(200), .milliseconds(300)])
        #expect(info.loopCount == 3)
    }

    /// A GIF of 4 × 4 pixels without a transparent color: the first frame is removed, and the second one is one pixel.
    private static let disposed: Data = {
        func frame(side: UInt8, disposal: UInt8, codes: [UInt8]) -> [UInt8] {
            var bits = (value: 0, count: 0), bytes: [UInt8] = []
            // Codes of 3 bits: 4 clears the table before they become longer, and 5 ends.
            for code in codes {
                bits.value |= Int(code) << bits.count
                bits.count += 3
                while bits.count >= 8 {
                    bytes.append(UInt8(bits.value & 0xFF))
                    bits = (bits.value >> 8, bits.count - 8)
                }
            }
            if bits.count > 0 { bytes.append(UInt8(bits.value)) }
            let head: [UInt8] = [0x21, 0xF9, 4, disposal << 2, 10, 0, 0, 0, 0x2C, 0, 0, 0, 0, side, 0, side, 0, 0, 2]
            return head + [UInt8(bytes.count)] + bytes + [0]
        }
        let start: [UInt8] = Array("GIF89a".utf8) + [4, 0, 4, 0, 0x80, 0, 0, 255, 0, 0, 0, 0, 255]
        var whole: [UInt8] = []
        for _ in 0..<8 { whole += [4, 1, 1] }
        let frames = frame(side: 4, disposal: 2, codes: whole + [5]) + frame(side: 1, disposal: 0, codes: [4, 0, 5])
        return Data(start + frames + [0x3B])
    }()

    /// What an animation says about alpha is not about what its frames leave behind.
    @Test(Tool.canWrite(.avif, .jpegXL), arguments: ["avif", "jxl"])
    func laterFramesKeepTheirTransparency(format: String) async throws {
        let input = try tool.write(Self.disposed, to: "in.gif")
        #expect(try !info("in.gif").hasAlpha)
        for options in [[], ["--isolated"], ["--metadata=all"]] {
            let run = try await tool.run(["convert", input, "out.\(format)"] + options)
            #expect(run.status == 0, "\(run.errors)")
            #expect(try await tool.run("convert", "out.\(format)", "frame.png", "--frame=2").status == 0)
            #expect(try CodecRegistry.shared.decode(tool.contents(of: "frame.png")).pixels[3, 3].w < 8)
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
        #expect(try await tool.run("convert", input, "b.webp").status == 0)
        #expect(try await tool.run("convert", input, "c.webp", "--preset", "drawing").status == 0)
        #expect(try tool.contents(of: "b.webp") != tool.contents(of: "c.webp"))
        #expect(try await tool.run("convert", input, "d.jpg", "--preset", "photo").status == 2)
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

    @Test func eachFrameIsAFile() async throws {
        let input = try tool.write(animation(), to: "in.png")
        let run = try await tool.run(
            "convert", "--json", input, "--frame", "all", "--size", "32x", "-o", "out/{name}-{index}.jpg")
        #expect(run.status == 0, "\(run.errors)")
        #expect(tool.names(in: "out") == ["in-1.jpg", "in-2.jpg", "in-3.jpg"])
        let objects = try run.objects(ConversionObject.self)
        #expect(objects.map(\.path) == ["out/in-1.jpg", "out/in-2.jpg", "out/in-3.jpg"])
        #expect(objects.allSatisfy { $0.width == 32 && $0.frames == 1 && $0.input == input })
        for number in 1...3 {
            let frame = try CodecRegistry.shared.decode(tool.contents(of: "out/in-\(number).jpg"))
            #expect(
                try await tool.run("convert", input, "one.jpg", "--frame", "\(number)", "--size", "32x").status == 0)
            #expect(largestDifference(frame, try CodecRegistry.shared.decode(tool.contents(of: "one.jpg"))) == 0)
        }
    }

    @Test(arguments: [
        (["convert", "in.png", "--frame", "all", "-o", "out.png"], "{index}"),
        (["convert", "in.png", "--frame", "all", "-o", "{name}.png"], "{index}"),
        (["convert", "in.png", "in.png", "--frame", "all", "-o", "{index}.png"], "{name}"),
        (["get", "in.png", "--frame", "all", "-o", "{name}-{index}.png"], "webimage convert"),
        (["animate", "in.png", "--frame", "all", "-o", "a.png"], "no animation"),
        (["convert", "in.png", "--frame", "all", "--loop", "2", "-o", "{index}.png"], "single frame"),
    ])
    func namesOfFramesMustDiffer(arguments: [String], words: String) async throws {
        _ = try tool.write(animation(), to: "in.png")
        let run = try await tool.run(arguments)
        #expect(run.status == 2 && run.errors.contains(words), "\(run.errors)")
    }
}
