import Testing
import WebImageCore

@Suite struct WebImageErrorDescriptionTests {
    @Test func advisesToRaiseOnlyTheLimitThatCanBeRaised() {
        let many = WebImageError.imageTooLarge(size: PixelSize(width: 20_000, height: 10_000), pixelLimit: 100_000_000)
        #expect(many.description.contains("more than the 100000000 allowed"))
        #expect(many.description.contains("Raise the limit"))
        let long = WebImageError.imageTooLarge(size: PixelSize(width: 70_000, height: 1), pixelLimit: 100_000_000)
        #expect(long.description.contains("a side can have 65535 at most"))
        #expect(!long.description.contains("Raise"))
    }

    @Test func saysWhatToDoAboutPlaceholdersAndDrawings() {
        let long = String(repeating: "x", count: 10_000)
        let hash = WebImageError.invalidPlaceholderHash(long, reason: .wrongLength(byteCount: 10_000, expected: 28))
        #expect(hash.code == 321 && hash.description.utf8.count < 400)
        #expect(hash.description.hasSuffix("it has 10000 bytes where its beginning asks for 28. Store it whole."))

        let emoji = WebImageError.drawing(.noColorFont(emoji: "😀"))
        #expect(emoji.code == 322 && emoji.description.contains("fonts-noto-color-emoji"))
        let size = WebImageError.drawing(.tooLarge(PixelSize(width: 40_000, height: 1), maximumDimension: 32_767))
        #expect(size.description.contains("40000×1 is more than the 32767 pixels"))
    }
}
