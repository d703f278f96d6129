import Testing
import WebImageCore

@Suite struct WebImageErrorDescriptionTests {
    @Test func advisesToRaiseOnlyTheLimitThatCanBeRaised() {
        let many = WebImageError.limitExceeded(
            reason: .pixels(size: PixelSize(width: 20_000, height: 10_000), limit: 100_000_000))
        #expect(many.description.contains("more than the 100000000 allowed"))
        #expect(many.description.contains("Raise the limit"))
        let long = WebImageError.limitExceeded(
            reason: .pixels(size: PixelSize(width: 70_000, height: 1), limit: 100_000_000))
        #expect(long.description.contains("a side has at most 65535"))
        #expect(!long.description.contains("Raise"))
    }

    @Test func saysWhatToDoAboutDrawings() {
        let emoji = WebImageError.processing(identifier: "drawing", reason: .noFont(emoji: "😀"))
        #expect(emoji.code == 322 && emoji.description.contains("fonts-noto-color-emoji"))
        let size = WebImageError.processing(
            identifier: "drawing",
            reason: .canvasTooLarge(PixelSize(width: 40_000, height: 1), maximumDimension: 32_767))
        #expect(size.description.contains("40000×1 exceeds the 32767 pixels"))
    }
}
