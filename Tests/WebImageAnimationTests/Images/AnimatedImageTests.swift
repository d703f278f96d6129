import Foundation
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageAnimation

@Suite struct AnimatedImageTests {
    @Test func takesALoadedPictureAndGivesItBack() throws {
        let animation = ReferenceAnimation(name: "gif-mixed.gif")
        let data = try animation.data()
        let image = try AnimatedImage(data: data)
        #expect(image.isAnimated)
        #expect(image.format == .gif)
        #expect(image.posterIsFirstFrame)
        #expect(image.memoryCost == image.poster.byteCount + data.count)
        #expect(image.decodedByteCount == image.poster.byteCount * image.source.frameCount)
        #expect(image.image.animation?.identity == image.source.identity)
        #expect(image.image.frameCount == image.source.frameCount)
    }

    @Test func aStillIsAnAnimationOfOneFrame() throws {
        let pixels = try AnimatedImage(NumberedSource(1)).poster
        let image = AnimatedImage(Image(pixels: pixels, scale: 2))
        #expect(!image.isAnimated)
        #expect(image.source.frameCount == 1)
        #expect(image.memoryCost == pixels.byteCount)
        #expect(image.image.animation == nil)
        #expect(image.image.scale == 2)
        #expect(try image.source.makeFrameReader().frame(at: 0, cancellation: nil) === pixels)
    }

    @Test func anAnimationWithoutFramesIsAStill() throws {
        let poster = try AnimatedImage(NumberedSource(1)).poster
        let image = AnimatedImage(Image(pixels: poster, animation: NumberedSource(0)))
        #expect(image.source.frameCount == 1)
        #expect(image.posterIsFirstFrame)
    }

    @Test func aPosterThatWasChangedIsNotTakenForAFrame() throws {
        let source = NumberedSource(3)
        let poster = try AnimatedImage(NumberedSource(1)).poster
        #expect(AnimatedImage(Image(pixels: poster, animation: source)).posterIsFirstFrame)
        #expect(!AnimatedImage(Image(pixels: poster, animation: source, isTransformed: true)).posterIsFirstFrame)
        #expect(!AnimatedImage(Image(pixels: poster, animation: source, isPartial: true)).posterIsFirstFrame)
        let large = NumberedSource(3, frameSize: PixelSize(width: 9, height: 9))
        #expect(!AnimatedImage(Image(pixels: poster, animation: large)).posterIsFirstFrame)
        let fixture = try PlayerFixture(source)
        let player = AnimationPlayer(
            AnimatedImage(Image(pixels: poster, animation: source, isTransformed: true)), clock: fixture.clock,
            pools: fixture.pools)
        player.play()
        fixture.advance(4)
        #expect(source.log.asked == [0, 0, 1, 2], "once for the poster of the fixture")
    }

    @Test func errorsOfTheFirstFrameAndOfNoFrameAreThrown() {
        let error = WebImageError.decoding(format: .gif, reason: .truncated)
        #expect(throws: error) { try AnimatedImage(NumberedSource(2, damaged: [0: error])) }
        #expect(throws: WebImageError.invalidAnimation(reason: .noFrames)) { try AnimatedImage(NumberedSource(0)) }
    }
}
