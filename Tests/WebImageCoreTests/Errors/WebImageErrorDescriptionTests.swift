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
}
