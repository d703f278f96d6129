import Foundation
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// What becomes of files that were cut, changed or made up: the same in every way of decoding, and never a crash, a hang
/// or pixels that nobody wrote.
@Suite struct CorruptionTests {
    static let fixtures = [
        "baseline-420.jpg", "progressive-420.jpg", "scan-per-component.jpg", "cmyk-adobe.jpg", "rgba-8.png",
        "palette-4-adam7.png", "rgb-16.png", "animated.png",
        "interlaced.gif", "animated.gif", "lossy.webp", "lossless.webp", "animated-parts.webp",
    ].map(Fixture.init)

    private func faults(_ data: Data) throws -> [String] {
        let format = try #require(ImageFormat(signatureOf: data))
        let decoder = try #require(CodecRegistry.builtInDecoders.first { $0.format == format })
        var exercise = DecoderExercise(decoder, input: data)
        exercise.run()
        return exercise.faults
    }

    @Test(arguments: fixtures) func survivesACutAtEveryHundredth(_ fixture: Fixture) throws {
        let data = try fixture.data()
        for percent in 1...100 {
            let length = max(12, data.count * percent / 100)
            #expect(try faults(data.prefix(length)) == [], "cut to \(length) bytes")
        }
    }

    @Test(arguments: fixtures) func survivesFlippedBits(_ fixture: Fixture) throws {
        var random = SplitMix64(seed: 5)
        let data = try fixture.data()
        for _ in 0..<40 {
            var changed = data
            let (offset, bit) = (Int.random(in: 12..<data.count, using: &random), Int.random(in: 0..<8, using: &random))
            changed[offset] ^= 1 << bit
            #expect(try faults(changed) == [], "bit \(bit) of byte \(offset)")
        }
    }

    @Test(
        arguments: [
            [0xFF, 0xD8, 0xFF], [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], Array("GIF89a".utf8),
            Array("RIFF\u{40}\u{1}\0\0WEBPVP8 ".utf8), Array("RIFF\u{40}\u{1}\0\0WEBPVP8L".utf8),
        ] as [[UInt8]])
    func survivesNoiseBehindASignature(_ signature: [UInt8]) throws {
        var random = SplitMix64(seed: 6)
        for length in 0..<60 {
            let noise = (0..<length * 8).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(try faults(Data(signature + noise + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0])) == [])
        }
    }

    /// Inputs that once broke something, as fuzzing found them.
    @Test func staysRepaired() throws {
        let directory = Fixture.directory.deletingLastPathComponent().appending(path: "regressions")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { !$0.hasSuffix(".md") }
        for name in names {
            #expect(try faults(Data(contentsOf: directory.appending(path: name))) == [], "\(name)")
        }
    }
}
