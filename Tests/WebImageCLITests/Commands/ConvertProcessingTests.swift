import Foundation
import Testing
import WebImage

/// `convert` with options that process pixels.
@Suite(.timeLimit(.minutes(3))) struct ConvertProcessingTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private func converted(_ arguments: String...) async throws -> Image {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        let run = try await tool.run(["convert", input, "out.png"] + arguments)
        #expect(run.status == 0, "\(run.errors)")
        return try CodecRegistry.shared.decode(tool.contents(of: "out.png"))
    }

    private func expected(_ processors: ImageProcessor...) throws -> Image {
        try TestImage().image().processed(by: processors)
    }

    @Test func rotatesAndMirrors() async throws {
        #expect(
            try await largestDifference(converted("--rotate", "90"), expected(.rotate(degrees: 90))) == 0)
        #expect(try await converted("--rotate", "-90").pixels.size == PixelSize(width: 48, height: 64))
        #expect(try await largestDifference(converted("--flip", "h"), expected(.flip(horizontally: true))) == 0)
        #expect(try await largestDifference(converted("--flip", "v"), expected(.flip(vertically: true))) == 0)
    }

    @Test func convertsToGrayscaleAndTints() async throws {
        #expect(try await largestDifference(converted("--grayscale"), expected(.grayscale())) == 0)
        let red = Color(red: 1, green: 0, blue: 0)
        #expect(
            try await largestDifference(converted("--tint", "#ff0000"), expected(.tint(red, mode: .sourceAtop))) == 0)
        let half = Color(red: 1, green: 0, blue: 0, alpha: 128.0 / 255)
        #expect(
            try await largestDifference(converted("--tint", "ff000080"), expected(.tint(half, mode: .sourceAtop))) <= 1)
    }

    @Test func roundsCornersAfterEverythingElse() async throws {
        let image = try await converted("--round", "10", "--blur", "4", "--rotate", "180")
        let same = try expected(.rotate(degrees: 180), .blur(radius: 4), .roundedCorners(radius: 10))
        // PNG stores colors that are not premultiplied.
        #expect(largestDifference(image, same) <= 1)
        #expect(image.pixels[0, 0].w == 0)
    }

    @Test func processesEveryFrameOfAnAnimation() async throws {
        var animation = EncodableAnimation(loopCount: 3)
        for _ in 0..<2 { animation.append(try TestImage().image(), duration: .milliseconds(200)) }
        animation.append(try expected(.grayscale()), duration: .milliseconds(500))
        let input = try tool.write(CodecRegistry.shared.encode(animation, as: .png), to: "in.png")
        #expect(try await tool.run("convert", input, "out.png", "--flip", "h").status == 0)
        let image = try CodecRegistry.shared.decode(tool.contents(of: "out.png"))
        let frames = try #require(image.animation)
        #expect(frames.loopCount == 3)
        #expect(frames.frames.map(\.duration) == [.milliseconds(200), .milliseconds(200), .milliseconds(500)])
        let last = try frames.makeFrameReader().frame(at: 2, cancellation: nil)
        #expect(try largestDifference(Image(pixels: last), expected(.grayscale(), .flip(horizontally: true))) == 0)
    }

    @Test(arguments: [
        ["--flip", "x"], ["--rotate", "north"], ["--rotate", "nan"], ["--blur", "-1"], ["--round", "inf"],
        ["--tint", "#12345"], ["--tint", "#12345é"], ["--tint", "#1234567"],
    ])
    func refusesInvalidValues(arguments: [String]) async throws {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        let run = try await tool.run(["convert", input, "out.png"] + arguments)
        #expect(run.status == 2)
        #expect(run.errors.contains("\(arguments[0]) takes"), "\(run.errors)")
    }
}
