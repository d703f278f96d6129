import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Other programs read the same frames, durations and plays from encoded files.
@Suite(.timeLimit(.minutes(3)), .enabled(if: OtherProgram.hasPillow, "needs Pillow"))
struct OtherProgramsTests {
    private let registry = CodecRegistry()
    private let directory: TemporaryDirectory
    private let options = EncodingOptions(isLossless: true)

    init() throws { directory = try TemporaryDirectory() }

    /// Opaque and transparent pixels, which are not rounded; few colors, so that GIF keeps them.
    private func animation(_ seed: UInt64) -> PixelAnimation {
        var animation = PixelAnimation(
            seed: seed, frameCount: 6, alphas: seed % 2 == 0 ? [0, 255] : [255], colorCount: 40)
        animation.loopCount = [0, 2, 3][Int(seed % 3)]
        return animation
    }

    @Test(arguments: [ImageFormat.gif, .png, .webp], [1, 2, 3, 4, 5, 6] as [UInt64])
    func pillowReadsTheSameFrames(format: ImageFormat, seed: UInt64) throws {
        let animation = animation(seed)
        let data = try registry.encode(animation.encodable(), as: format, options: options)
        let reading = try OtherProgram.pillowReading(of: directory.write(data, to: "a"))
        #expect(reading.frames.count == animation.frames.count)
        for (index, (frame, original)) in zip(reading.frames, animation.frames).enumerated() {
            // The color of transparent pixels is arbitrary.
            var bytes = [UInt8](frame)
            for place in stride(from: 0, to: bytes.count, by: 4) where bytes[place + 3] == 0 {
                bytes.replaceSubrange(place..<place + 4, with: [0, 0, 0, 0])
            }
            #expect(bytes == original.bytes, "frame \(index)")
        }
        for (theirs, ours) in zip(reading.durations, animation.durations) { #expect(abs(theirs - ours * 1000) < 0.6) }
        // GIF counts repetitions.
        let plays = format == .gif && animation.loopCount > 0 ? animation.loopCount - 1 : animation.loopCount
        #expect(reading.loop == plays)
    }

    @Test(
        .enabled(if: OtherProgram.isInstalled(OtherProgram.imageMagick), "needs ImageMagick"),
        arguments: [1, 2, 3, 4] as [UInt64])
    func imageMagickReadsTheSameFramesOfAGIF(seed: UInt64) throws {
        let animation = animation(seed)
        let file = try directory.write(registry.encode(animation.encodable(), as: .gif), to: "a.gif")
        let raw = try OtherProgram.run(
            OtherProgram.imageMagick, [file.path, "-coalesce", "-depth", "8", "rgba:-"])
        var bytes = [UInt8](raw)
        for place in stride(from: 0, to: bytes.count, by: 4) where bytes[place + 3] == 0 {
            bytes.replaceSubrange(place..<place + 4, with: [0, 0, 0, 0])
        }
        #expect(bytes == animation.frames.flatMap(\.bytes))
        let delays = try OtherProgram.run(OtherProgram.imageMagick, [file.path, "-format", "%T ", "info:-"])
        let hundredths = String(decoding: delays, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        #expect(hundredths == animation.durations.map { Int(($0 * 100).rounded()) })
    }

    @Test(.enabled(if: OtherProgram.isInstalled("/usr/bin/webpmux"), "needs webpmux"))
    func webpmuxReadsTheSameTimes() throws {
        let animation = animation(3)
        for isLossless in [true, false] {
            let options = EncodingOptions(isLossless: isLossless)
            let data = try registry.encode(animation.encodable(), as: .webp, options: options)
            let file = try directory.write(data, to: "a.webp")
            let text = String(
                decoding: try OtherProgram.run("/usr/bin/webpmux", ["-info", file.path]), as: UTF8.self)
            #expect(text.contains("Number of frames: 6"))
            #expect(text.contains("Loop Count : \(animation.loopCount)"))
            // Number, width, height, alpha, x, y, duration.
            let rows = text.split(separator: "\n").map { $0.split(separator: " ") }
            let durations = rows.filter { $0.count > 9 && $0[0].hasSuffix(":") }.compactMap { Int($0[6]) }
            #expect(durations == animation.durations.map { Int(($0 * 1000).rounded()) })
            try OtherProgram.run("/usr/bin/webpinfo", ["-quiet", file.path])
        }
    }

    @Test(.enabled(if: OtherProgram.isInstalled("/usr/bin/pngcheck"), "needs pngcheck"))
    func pngcheckFindsNoErrors() throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            let data = try registry.encode(animation(seed).encodable(), as: .png)
            try OtherProgram.run("/usr/bin/pngcheck", ["-q", directory.write(data, to: "a.png").path])
        }
    }

    @Test(.enabled(if: OtherProgram.isInstalled("/usr/bin/giftext"), "needs giftext"))
    func giftextFindsEveryFrame() throws {
        let data = try registry.encode(animation(2).encodable(), as: .gif)
        let text = try OtherProgram.run("/usr/bin/giftext", [directory.write(data, to: "a.gif").path])
        #expect(String(decoding: text, as: UTF8.self).components(separatedBy: "Image #").count == 7)
    }

    @Test func pillowReadsStillsOfEveryKind() throws {
        let image = try registry.decode(Fixture("photo.jpg").data())
        let expected = Pixels(image.pixels)
        let kinds: [(ImageFormat, EncodingOptions, Double)] = [
            (.jpeg, EncodingOptions(quality: 0.95, isProgressive: true).with { $0.chroma = .full }, 35),
            (
                .jpeg, EncodingOptions(quality: 0.95).with { ($0.optimizesHuffmanCodes, $0.chroma) = (true, .halved) },
                34
            ),
            (.png, EncodingOptions().with { ($0.pngLevel, $0.pngFilter) = (12, .paeth) }, .infinity),
            (.png, EncodingOptions().with { ($0.pngLevel, $0.pngFilter) = (0, .none) }, .infinity),
            (.webp, EncodingOptions(isLossless: true).with { $0.webPEffort = 6 }, .infinity),
            (.webp, EncodingOptions(quality: 0.9).with { $0.webPEffort = 0 }, 33),
        ]
        for (format, options, psnr) in kinds {
            let file = try directory.write(registry.encode(image, as: format, options: options), to: "a")
            let reading = try OtherProgram.pillowReading(of: file)
            let pixels = Pixels(size: image.pixels.size, bytes: [UInt8](try #require(reading.frames.first)))
            #expect(try #require(pixels.psnr(against: expected)) >= psnr, "\(format)")
            #expect(reading.isProgressive == (options.isProgressive && format == .jpeg))
        }
    }

    /// With 256 colors, without dithering and with Floyd-Steinberg.
    @Test func choosesBetterColorsThanPillow() throws {
        let image = try registry.decode(Fixture("photo.jpg").data())
        let original = Pixels(image.pixels)
        let png = try directory.write(registry.encode(image, as: .png), to: "photo.png")
        for dithering in [EncodingOptions.Dithering.none, .floydSteinberg] {
            let theirs = directory.url("theirs.gif")
            let script = """
                import sys
                from PIL import Image
                image = Image.open(sys.argv[1]).convert("RGB")
                reduced = image.quantize(256)
                if sys.argv[3] != "none": reduced = image.quantize(256, palette=reduced, dither=Image.Dither.FLOYDSTEINBERG)
                reduced.save(sys.argv[2])
                """
            try OtherProgram.run(OtherProgram.python, ["-c", script, png.path, theirs.path, dithering.rawValue])
            let options = EncodingOptions().with { $0.dithering = dithering }
            let ours = try registry.decode(registry.encode(image, as: .gif, options: options))
            let psnr = try #require(Pixels(ours.pixels).psnr(against: original))
            let theirPSNR = try #require(
                Pixels(registry.decode(Data(contentsOf: theirs)).pixels).psnr(against: original))
            #expect(psnr > theirPSNR + 0.5, "\(psnr) dB beside \(theirPSNR), \(dithering)")
        }
    }
}
