import Foundation
import Testing
import WebImage
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct AnimateTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        for number in 0..<3 { _ = try tool.write(TestImage(number: number).data(.png), to: "in/\(number + 8).png") }
    }

    private struct Object: Decodable {
        var path: String?
        var format: String?
        var width: Int?
        var frames: Int?
        var bytes: Int?
        var error: ErrorObject?
    }

    private func animation(_ name: String) throws -> any AnimationSource {
        try #require(CodecRegistry.shared.decode(tool.contents(of: name)).animation)
    }

    @Test(arguments: ["gif", "png", "webp"])
    func writesStillsInOrder(format: String) async throws {
        let run = try await tool.run("animate", "-r", "in", "out.\(format)", "--duration", "0.5", "--loop", "2")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.hasPrefix("3 frames: \(format), 64×48, ") && run.output.hasSuffix("→ out.\(format)\n"))
        let animation = try animation("out.\(format)")
        #expect(animation.frames.map(\.duration) == [.milliseconds(500), .milliseconds(500), .milliseconds(500)])
        #expect(animation.loopCount == 2)
        guard format == "png" else { return }
        let reader = animation.makeFrameReader()
        for number in 0..<3 {
            let frame = Image(pixels: try reader.frame(at: number, cancellation: nil))
            #expect(try largestDifference(frame, TestImage(number: number).image()) == 0)
        }
    }

    @Test(Tool.canWrite(.avif, .jpegXL), arguments: ["avif", "jxl"])
    func writesFormatsOfLibraries(format: String) async throws {
        let run = try await tool.run("animate", "-r", "in", "out.\(format)", "--json", "--isolated")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try run.object(Object.self).frames == 3)
    }

    @Test func theLastDurationIsThatOfFurtherFrames() async throws {
        #expect(
            try await tool.run("animate", "in/8.png", "in/9.png", "in/10.png", "-o", "a.webp", "--duration", "2,0.1")
                .status == 0)
        #expect(
            try animation("a.webp").frames.map(\.duration) == [.seconds(2), .milliseconds(100), .milliseconds(100)])
        #expect(try animation("a.webp").loopCount == 0)
    }

    @Test func countsASingleFrameInTheSingular() async throws {
        let run = try await tool.run("animate", "in/8.png", "out.gif", "--loop", "1")
        #expect(run.output.hasPrefix("1 frame: gif, 64×48, "), "\(run.output)\(run.errors)")
        let durations = try await tool.run("animate", "in/8.png", "out.gif", "--duration", "1,2")
        #expect(durations.errors.contains("--duration has 2 numbers for 1 frame\n"))
    }

    @Test func framesNeedOneSize() async throws {
        _ = try tool.write(TestImage(width: 20, height: 20).data(.png), to: "in/11.png")
        let run = try await tool.run("animate", "-r", "in", "out.webp")
        #expect(run.status == 1)
        #expect(run.errors.contains("in/11.png"), "\(run.errors)")
        // Counted from 1, as for --frame.
        #expect(run.errors.contains("frame 4 has 20×20 pixels, the first has 64×48"), "\(run.errors)")
        #expect(run.errors.hasSuffix("To bring all to one size: --size 64x48 --mode fill --enlarge.\n"))
        #expect(!tool.names(in: ".").contains("out.webp"))
        let filled = try await tool.run(
            "animate", "-r", "in", "out.webp", "--size", "64x48", "--mode", "fill", "--enlarge", "--grayscale",
            "--json")
        let object = try filled.object(Object.self)
        #expect([object.frames, object.width] == [4, 64] && object.error == nil, "\(filled.errors)")
    }

    @Test func aBrokenFrameIsNamed() async throws {
        _ = try tool.write(TestImage.damaged(), to: "in/11.png")
        let run = try await tool.run("animate", "--json", "-r", "in", "out.gif")
        #expect(run.status == 1 && run.errors.contains("in/11.png"), "\(run.errors)")
        #expect(try run.object(Object.self).error?.code == 301)
        let missing = try await tool.run("animate", "in/8.png", "gone.png", "out.gif")
        #expect(missing.status == 1 && missing.errors.contains("gone.png: No such file"), "\(missing.errors)")
    }

    @Test func replacesNoInputAndNoFileItMustNot() async throws {
        let input = try await tool.run("animate", "in/8.png", "in/9.png", "in/9.png")
        #expect(input.status == 2 && input.errors.contains("is the input"))
        _ = try tool.write(Data("old".utf8), to: "out.gif")
        #expect(try await tool.run("animate", "-r", "in", "out.gif", "--no-clobber").status == 1)
        #expect(try tool.contents(of: "out.gif") == Data("old".utf8))
    }
}
