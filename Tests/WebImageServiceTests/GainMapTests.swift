import CodingTestSupport
import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageService

/// Results keep the gain map of their source, a JPEG of 64 × 48 pixels with a map of 16 × 12.
@Suite(.timeLimit(.minutes(1)))
struct GainMapTests {
    private static let origin = Result { try OriginServer() }

    private func map(_ options: String, file: Data? = nil) async throws -> GainMap? {
        let fixture = try ServiceFixture(Self.origin.get())
        try await fixture.origin.answer("/m.jpg", body: file ?? GainMapFiles.ultraHDR())
        let answer = try await fixture.get("/\(options)/plain/{}/m.jpg@jpg")
        #expect(answer.status == 200, "\(answer.text)")
        let registry = CodecRegistry.shared
        return try registry.gainMap(of: answer.bytes)
    }

    @Test(arguments: [
        ("q:80", [64, 48], [16, 12]), ("w:32", [32, 24], [8, 6]), ("rs:fill:24:24", [24, 24], [6, 6]),
        ("c:32:24:soea", [32, 24], [8, 6]), ("c:0.5:0.5:sm/w:16", [16, 12], [4, 3]), ("rot:90", [48, 64], [12, 16]),
        ("fl:1/w:32", [32, 24], [8, 6]), ("t:2", [64, 48], [16, 12]), ("el:1/w:128", [128, 96], [16, 12]),
        ("sh:1", [64, 48], [16, 12]), ("bg:fff", [64, 48], [16, 12]), ("sm:0", [64, 48], [16, 12]),
    ])
    func aMapFollowsItsImage(options: String, size: [Int], mapSize: [Int]) async throws {
        let map = try #require(try await map(options))
        #expect([map.imageSize.width, map.imageSize.height] == size)
        #expect([map.pixels.width, map.pixels.height] == mapSize)
        #expect(map.metadata.alternateHeadroom.value == 3)
    }

    /// As on servers: images are decoded, and AVIF is encoded, in other processes.
    @Test(
        .enabled(if: CodecRegistry.shared.canEncode(.avif), "needs libavif"),
        arguments: [("jpg", "avif"), ("avif", "avif"), ("avif", "jpg")])
    func mapsPassThroughOtherProcesses(source: String, result: String) async throws {
        let codecs = CodecRegistry.shared
        var file = try GainMapFiles.ultraHDR()
        if source == "avif" {
            var options = EncodingOptions(quality: 0.9)
            options.gainMap = try codecs.gainMap(of: file)
            file = try codecs.encode(codecs.decode(file), as: .avif, options: options)
        }
        let fixture = try ServiceFixture(Self.origin.get()) {
            $0.images.isolation = .allFormats
        }
        #expect(fixture.service.configuration.images.isolatedDecoding.blockingStatus.problem == nil)
        try await fixture.origin.answer("/\(source)-\(result)", body: file)
        let answer = try await fixture.get("/w:32/plain/{}/\(source)-\(result)@\(result)")
        #expect(
            answer.status == 200 && answer.header("Content-Type") == (result == "jpg" ? "image/jpeg" : "image/avif"))
        let map = try #require(
            try codecs.gainMap(of: answer.bytes))
        #expect(map.imageSize == PixelSize(width: 32, height: 24) && map.pixels.size == PixelSize(width: 8, height: 6))
        #expect(map.metadata.alternateHeadroom.value == 3)
    }

    @Test(arguments: ["gm:0", "gain_map:0", "bl:2", "pix:8", "pd:4", "rs:fit:80:80:1:1"])
    func otherOptionsDropIt(options: String) async throws { #expect(try await map(options) == nil) }

    @Test func aDamagedMapIsDropped() async throws {
        let file = try GainMapFiles.ultraHDR()
        #expect(try await map("w:32", file: file.dropLast(200) + Data(count: 200)) == nil)
    }

    /// In quarters of the image, the map has other gains.
    @Test func aMapIsCutLikeItsImage() async throws {
        let picture = try ServiceFixture.picture(width: 64, height: 64)
        var options = EncodingOptions(quality: 1)
        options.chroma = .full
        let image = try CodecRegistry.shared.encode(picture, as: .jpeg, options: options)
        let file = GainMapFiles.jpeg(image, image, iso: GainMapFiles.iso(flags: 0xC0, channels: 3), described: .iso)
        for (crop, letter) in [("nowe", "R"), ("noea", "G"), ("sowe", "B"), ("soea", "W")] {
            let map = try #require(try await map("c:32:32:\(crop)/q:100", file: file))
            let color = try #require(Image(pixels: map.pixels).color(atX: 16, y: 16))
            #expect(map.pixels.width == 32 && ServiceAnswer.letter(of: color) == letter, "\(crop)")
        }
    }
}
