import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Files that are an image and something else behind it.
@Suite(.timeLimit(.minutes(1)))
struct TrailingBytesTests {
    private static let archive = Data("PK\u{5}\u{6}".utf8) + Data(count: 18)

    private static func files() throws -> [(ImageFormat, Data)] {
        let (registry, image) = (CodecRegistry(), try GainMapFiles.picture(width: 24, height: 16))
        var progressive = EncodingOptions(quality: 0.8)
        progressive.isProgressive = true
        var animation = EncodableAnimation()
        for _ in 0..<3 { animation.append(image) }
        return [
            (.jpeg, try registry.encode(image, as: .jpeg)),
            (.jpeg, try registry.encode(image, as: .jpeg, options: progressive)),
            (.png, try registry.encode(image, as: .png)), (.png, try registry.encode(animation, as: .png)),
            (.gif, try registry.encode(image, as: .gif)), (.gif, try registry.encode(animation, as: .gif)),
            (.webp, try registry.encode(image, as: .webp)), (.webp, try registry.encode(animation, as: .webp)),
            (
                .avif,
                Data([0, 0, 0, 16]) + Data("ftypavif".utf8) + Data(count: 4) + Data([0, 0, 0, 9]) + Data("mdat!".utf8)
            ),
        ]
    }

    @Test func anImageAloneHasNone() throws {
        for (format, file) in try Self.files() {
            #expect(TrailingBytes.count(in: file, format) == 0, "\(format.name)")
            // Some cameras fill the last block.
            #expect(TrailingBytes.count(in: file + Data(count: 512), format) == 0, "\(format.name)")
            // The last box could also be something else; its decoder refuses it.
            #expect(TrailingBytes.count(in: file.dropLast(), format) == 0 || format == .avif, "\(format.name)")
            // A slice does not begin with 0.
            #expect(TrailingBytes.count(in: (Data(count: 3) + file).dropFirst(3), format) == 0, "\(format.name)")
        }
    }

    @Test func whatIsBehindAnImageIsCounted() throws {
        for (format, file) in try Self.files() {
            #expect(TrailingBytes.count(in: file + Self.archive, format) == Self.archive.count, "\(format.name)")
            #expect(TrailingBytes.count(in: file + Data("<".utf8), format) == 1, "\(format.name)")
        }
    }

    @Test(arguments: GainMapFiles.Place.allCases) func aGainMapIsAPartOfItsImage(place: GainMapFiles.Place) throws {
        let file = try GainMapFiles.ultraHDR(described: .both, at: place)
        #expect(TrailingBytes.count(in: file, .jpeg) == 0)
        // The directory says that the map is at the end.
        let isFound = place == .index
        let film = Data(count: 4) + Data("ftypisom".utf8)
        #expect(TrailingBytes.count(in: file + film, .jpeg) >= (isFound ? film.count : 1))
    }

    @Test func formatsWithoutAnEndHaveNone() {
        #expect(TrailingBytes.count(in: Data("II*\0".utf8) + Self.archive, .tiff) == 0)
        #expect(TrailingBytes.count(in: Data(), .jpeg) == 0 && TrailingBytes.count(in: Data([0x47]), .gif) == 0)
    }
}
