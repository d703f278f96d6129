import Foundation
import Testing
import WebImageCoding
import WebImageCore

/// Pixels as other programs get them from the same files.
@Suite struct DecodedPixelsTests {
    // libjpeg-turbo's releases differ by a rounding step in upsampling.
    @Test(arguments: Fixture.all(withExtension: "jpg"))
    func decodesJPEGLikePillow(_ fixture: Fixture) throws {
        let image = try JPEGDecoder().decode(fixture.data(), options: DecodingOptions())
        let difference = try #require(Pixels(image.pixels).difference(from: fixture.reference()))
        #expect(difference <= 2)
        #expect(image.format == .jpeg)
        #expect(image.pixels.isOpaque)
    }

    @Test(arguments: Fixture.all(withExtension: "png"))
    func decodesEveryKindOfPNGExactly(_ fixture: Fixture) throws {
        let image = try PNGDecoder().decode(fixture.data(), options: DecodingOptions())
        let reference = try fixture.reference()
        #expect(Pixels(image.pixels) == reference)
        #expect(image.pixels.isOpaque == reference.isOpaque)
    }

    @Test(arguments: Fixture.all(withExtension: "gif"))
    func decodesTheFirstFrameOfAGIFExactly(_ fixture: Fixture) throws {
        let image = try GIFDecoder().decode(fixture.data(), options: DecodingOptions())
        let reference = try fixture.reference()
        #expect(Pixels(image.pixels) == reference)
        #expect(image.pixels.isOpaque == reference.isOpaque)
    }

    // libwebp premultiplies with a rounding of its own.
    @Test(arguments: Fixture.all(withExtension: "webp"))
    func decodesWebPLikePillow(_ fixture: Fixture) throws {
        let image = try WebPDecoder().decode(fixture.data(), options: DecodingOptions())
        let reference = try fixture.reference()
        let difference = try #require(Pixels(image.pixels).difference(from: reference))
        #expect(difference <= 1)
        #expect(image.pixels.isOpaque == reference.isOpaque)
    }

    @Test func findsAllFixtures() {
        #expect(Fixture.all(withExtension: "jpg").count >= 18)
        #expect(Fixture.all(withExtension: "png").count >= 36)
        #expect(Fixture.all(withExtension: "gif").count >= 7)
        #expect(Fixture.all(withExtension: "webp").count >= 6)
    }
}
