import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore

/// The information in the first bytes of a file.
@Suite(.timeLimit(.minutes(3))) struct ImageProbeTests {
    private let registry = CodecRegistry()

    /// Every result is that of the whole file, except for what may follow the pixels.
    @Test(arguments: ["jpg", "png", "gif", "webp"]) func isCorrectOrNilAtEveryLength(_ fileExtension: String) throws {
        for fixture in Fixture.all(withExtension: fileExtension) {
            let data = try fixture.data()
            let info = try registry.info(of: data)
            var first: ImageProbe?
            for length in 0...data.count {
                guard let probe = try registry.probe(data.prefix(length)) else {
                    #expect(first == nil, "\(fixture.name) forgets what it told at \(length) bytes")
                    continue
                }
                if first == nil {
                    first = probe
                    // That is, before the pixels.
                    #expect(length < data.count, "\(fixture.name)")
                }
                #expect(probe.format == info.format)
                if probe.orientation == info.orientation {
                    #expect(probe.size == info.size, "\(fixture.name) at \(length) bytes")
                } else {
                    #expect(fixture.name == "orientation-6.webp" && probe.orientation == .up)
                }
                if fileExtension != "gif" {
                    #expect(probe.hasAlpha == info.hasAlpha, "\(fixture.name) at \(length) bytes")
                }
                if let isAnimated = probe.isAnimated, info.frameCount > 1 {
                    #expect(isAnimated, "\(fixture.name) at \(length) bytes")
                }
            }
            #expect(first != nil, "\(fixture.name)")
        }
    }

    @Test func continuesAfterAnEmbeddedThumbnail() throws {
        // The longest possible segment: orientation first, then a thumbnail full of other markers.
        let exif = Data("Exif\0\0MM\0*\0\0\0\u{8}\0\u{1}\u{1}\u{12}\0\u{3}\0\0\0\u{1}\0\u{6}\0\0\0\0\0\0".utf8)
        let thumbnail = Data((0..<65_533 - exif.count).map { $0 % 2 == 0 ? 0xFF : 0xDA })
        var data = try Fixture("baseline-444.jpg").data()
        let plain = try #require(try registry.probe(data))
        data.insert(contentsOf: [0xFF, 0xE1, 0xFF, 0xFF] + exif + thumbnail, at: 2)
        #expect(try registry.probe(data.prefix(65_538)) == nil)
        let probe = try #require(try registry.probe(data.prefix(70_000)))
        #expect(probe.orientation == .right)
        #expect(probe.size == plain.size.transposed)
    }

    @Test func stopsAfterAMebibyte() throws {
        var data = Data([0xFF, 0xD8])
        while data.count < ImageProbe.byteLimit + 10 {
            data += Data([0xFF, 0xE2, 0xFF, 0xFF]) + Data(repeating: 0, count: 65_533)
        }
        let segments = try Fixture("baseline-444.jpg").data().dropFirst(2)
        #expect(try registry.probe(data + segments) == nil)
        #expect(try registry.info(of: data + segments).size.width > 0)
    }

    @Test func refusesABombBeforeItsPixels() throws {
        let size = PixelSize(width: 30_000, height: 30_000)
        let data = PNGWriter.signature + PNGWriter.header(size, color: .rgba) + PNGWriter.chunk("IDAT", Data([0]))
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100_000_000))) {
            try registry.probe(data)
        }
        let limits = DecodingLimits(pixelCount: 1_000_000_000, scanCount: 100)
        #expect(try registry.probe(data, limits: limits)?.size == size)
    }

    @Test(arguments: ["", "R", "GIF88a, and more than enough bytes", "<html>"])
    func isNilForUnknownFormats(_ text: String) throws {
        #expect(try registry.probe(Data(text.utf8)) == nil)
    }
}
