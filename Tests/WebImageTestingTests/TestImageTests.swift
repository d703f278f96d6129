import FoundationEssentials
import Testing
import WebImage
import WebImageTesting

/// Images for tests, and images in reports of tests.
@Suite(.timeLimit(.minutes(1))) struct TestImageTests {
    @Test func thePatternShowsItsOrientation() throws {
        let image = try Image.testPattern(width: 4, height: 2)
        let corners = [(0, 0), (3, 0), (0, 1), (3, 1)].map { image.pixels[$0.0, $0.1] }
        #expect(
            corners == [SIMD4(255, 0, 0, 255), SIMD4(0, 255, 0, 255), SIMD4(0, 0, 255, 255), SIMD4(255, 255, 255, 255)])
        #expect(throws: WebImageError.limitExceeded(reason: .side(width: 0, height: 2))) {
            try Image.testPattern(width: 0, height: 2)
        }
    }

    @Test func anAnimationHasItsFramesAndTimes() throws {
        let animation = try #require(try Image.testAnimation(frameCount: 3, frameDuration: .milliseconds(40)).animation)
        #expect(animation.frames.map(\.duration) == [Duration](repeating: .milliseconds(40), count: 3))
        #expect(throws: WebImageError.self) { try Image.testAnimation(frameCount: 0) }
    }

    @Test func aStillIsAttachedAsPNG() throws {
        let image = try Image.testPattern()
        let attachment = Attachment(image, named: "tile")
        Attachment.record(attachment)
        #expect(attachment.preferredName == "tile.png")
        #expect(Attachment(image, named: "tile.png").preferredName == "tile.png")
        let file = try attachment.withUnsafeBytes { Data($0) }
        let decoded = try CodecRegistry.shared.decode(file)
        #expect(decoded.format == .png && decoded.pixels[0, 0] == image.pixels[0, 0])
    }

    @Test func anAnimationIsAttachedAsGIF() throws {
        let attachment = Attachment(try Image.testAnimation(), named: "spinner")
        #expect(attachment.preferredName == "spinner.gif")
        #expect(try CodecRegistry.shared.info(of: attachment.withUnsafeBytes { Data($0) }).frameCount == 3)
    }
}
