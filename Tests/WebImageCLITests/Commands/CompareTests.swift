import Foundation
import Testing
import WebImage
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct CompareTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private struct Object: Decodable {
        var first: String
        var second: String
        var equal: Bool?
        var width: Int?
        var height: Int?
        var frames: Int?
        var differingPixels: Int?
        var largestDifference: Int?
        var psnr: Double?
        var ssim: Double?
        var hashDistance: Int?
        var path: String?
        var error: ErrorObject?
    }

    private func write(_ image: Image, _ name: String, as format: ImageFormat = .png) throws -> String {
        try tool.write(CodecRegistry.shared.encode(image, as: format, options: EncodingOptions(quality: 0.8)), to: name)
    }

    @Test func equalPixelsInTwoFormatsAreEqual() async throws {
        let png = try write(TestImage().image(), "a.png")
        var lossless = EncodingOptions()
        lossless.isLossless = true
        let webp = try tool.write(
            CodecRegistry.shared.encode(TestImage().image(), as: .webp, options: lossless), to: "a.webp")
        let run = try await tool.run("compare", png, webp)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.hasPrefix("equal: yes\nsize: 64×48\ndiffering pixels: 0 of 3072"))
        let object = try await tool.run("compare", "--json", png, webp).object(Object.self)
        #expect(object.equal == true && object.psnr == nil && object.ssim == 1 && object.hashDistance == 0)
        #expect([object.width, object.height, object.frames, object.largestDifference] == [64, 48, 1, 0])
    }

    @Test func compressionMakesADifference() async throws {
        let png = try write(TestImage.scene(), "a.png")
        let jpeg = try write(TestImage.scene(), "a.jpg", as: .jpeg)
        let run = try await tool.run("compare", "--json", png, jpeg)
        #expect(run.status == 1 && run.errors.isEmpty)
        let object = try run.object(Object.self)
        #expect(object.equal == false && object.error == nil)
        #expect(try #require(object.psnr) > 20 && #require(object.ssim) > 0.8)
        #expect(try #require(object.hashDistance) <= 6 && #require(object.largestDifference) > 0)
        let quiet = try await tool.run("compare", "-q", png, jpeg)
        #expect(quiet.status == 1 && quiet.output.isEmpty && quiet.errors.isEmpty)
    }

    @Test func drawsTheDifferences() async throws {
        let image = try TestImage().image()
        let changed = try await image.processed(by: [
            .blend(try TestImage(width: 3, height: 2).image(), id: "patch", x: 40, y: 30)
        ])
        let (a, b) = (try write(image, "a.png"), try write(changed, "b.png"))
        let run = try await tool.run("compare", a, b, "-o", "d.png")
        #expect(run.status == 1 && run.output.contains("differing pixels: 6 of 3072") && run.output.contains("d.png"))
        let piped = try await tool.run("compare", a, b, "-o", "-")
        #expect(piped.status == 2 && piped.errors.contains("the result is printed to standard output"))
        let picture = try CodecRegistry.shared.decode(tool.contents(of: "d.png"))
        #expect(picture.pixels[41, 31].x > picture.pixels[41, 31].y)
        #expect(picture.pixels[5, 5].x == picture.pixels[5, 5].y)
    }

    @Test func imagesOfSeveralSizesDiffer() async throws {
        let a = try write(TestImage().image(), "a.png")
        let b = try write(TestImage(width: 32, height: 24).image(), "b.png")
        let run = try await tool.run("compare", a, b)
        #expect(run.status == 1 && run.output.contains("size: 64×48 and 32×24\n"))
        #expect(run.output.contains("hash distance: "))
        let picture = try await tool.run("compare", a, b, "-o", "d.png")
        #expect(picture.status == 2 && picture.errors.contains("sizes differ"))
        #expect(!tool.names(in: ".").contains("d.png"))
    }

    @Test func allFramesCount() async throws {
        func animation(_ numbers: [Int], _ name: String) throws -> String {
            var animation = EncodableAnimation()
            for number in numbers {
                animation.append(try TestImage(number: number).image(), duration: .milliseconds(100))
            }
            return try tool.write(CodecRegistry.shared.encode(animation, as: .png), to: name)
        }
        let a = try animation([0, 1, 2], "a.png")
        #expect(try await tool.run("compare", "-q", a, animation([0, 1, 2], "b.png")).status == 0)
        let changed = try await tool.run("compare", "--json", a, animation([0, 1, 3], "c.png"))
        #expect(changed.status == 1)
        #expect(try changed.object(Object.self).largestDifference == 40)
        // The frame that differs most is reported, not the last.
        let middle = try await tool.run("compare", "--json", a, animation([0, 2, 2], "e.png")).object(Object.self)
        #expect(middle.equal == false && middle.largestDifference == 40)
        let shorter = try await tool.run("compare", a, animation([0, 1], "d.png"))
        #expect(shorter.status == 1 && shorter.output.contains("frames: 3 and 2\n"))
    }

    @Test func troubleHasAStatusOfItsOwn() async throws {
        let a = try write(TestImage().image(), "a.png")
        let missing = try await tool.run("compare", a, "gone.png")
        #expect(missing.status == 2 && missing.output.isEmpty && missing.errors.contains("gone.png"))
        let object = try await tool.run("compare", "--json", a, "gone.png").object(Object.self)
        #expect(object.equal == nil && object.error?.code == 207)
        let large = try await tool.run("compare", a, a, "--max-pixels", "100")
        #expect(large.status == 2 && large.errors.contains("--max-pixels"))
    }
}
