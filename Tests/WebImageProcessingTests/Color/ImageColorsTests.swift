import Testing
import WebImageCore
import WebImageProcessing
import WebImageTestSupport

@Suite struct ImageColorsTests {
    private func isClose(_ color: Color?, _ red: Double, _ green: Double, _ blue: Double, _ alpha: Double = 1) -> Bool {
        guard let color else { return false }
        return zip([color.red, color.green, color.blue, color.alpha], [red, green, blue, alpha])
            .allSatisfy { abs($0 - $1) < 0.02 }
    }

    /// A picture with so many pixels of each color, in no order.
    private func shuffled(_ counts: [(pixel: [UInt8], count: Int)], width: Int, seed: UInt64 = 1) throws -> Image {
        var generator = SplitMix64(seed: seed)
        let pixels = counts.flatMap { Array(repeating: $0.pixel, count: $0.count) }.shuffled(using: &generator)
        return try EffectPixels(width: width, height: pixels.count / width, bytes: pixels.flatMap { $0 }).image()
    }

    @Test func probesStraightColors() throws {
        let image = try EffectPixels(width: 2, height: 1, bytes: [255, 51, 0, 255, 64, 0, 32, 128]).image()
        #expect(image.color(atX: 0, y: 0) == Color(red: 1, green: 0.2, blue: 0))
        #expect(isClose(image.color(atX: 1, y: 0), 0.5, 0, 0.25, 0.502))
        for (x, y) in [(-1, 0), (2, 0), (0, -1), (0, 1), (.max, .min)] { #expect(image.color(atX: x, y: y) == nil) }
    }

    @Test func clearPixelsHaveNoColor() throws {
        let image = try EffectPixels(width: 1, height: 1, pixel: [0, 0, 0, 0]).image()
        #expect(image.color(atX: 0, y: 0) == .clear)
        #expect(image.averageColor == .clear)
        #expect(image.dominantColor() == nil)
        #expect(image.palette(count: 3).isEmpty)
    }

    @Test func listsTheColorsOfARectangle() throws {
        let image = try EffectPixels(
            width: 3, height: 2, bytes: (0..<6).flatMap { [UInt8($0) * 51, 0, 0, 255] as [UInt8] }
        ).image()
        #expect(image.colors(in: PixelRect(x: 1, y: 0, width: 2, height: 2))?.map(\.red) == [0.2, 0.4, 0.8, 1])
        #expect(image.colors(in: PixelRect(x: 2, y: 0, width: 2, height: 1)) == nil)
        #expect(image.colors(in: PixelRect(x: 0, y: 0, width: 0, height: 1)) == nil)
        #expect(image.colors(in: PixelRect(x: .max, y: 0, width: .max, height: 1)) == nil)
        #expect(image.colors(in: PixelRect(x: .min, y: .min, width: .max, height: .max)) == nil)
    }

    @Test func averagesWeighColorsByAlpha() throws {
        let image = try EffectPixels(width: 2, height: 1, bytes: [255, 0, 0, 255, 0, 0, 85, 85]).image()
        #expect(isClose(image.averageColor, 0.75, 0, 0.25, 2.0 / 3))
        #expect(isClose(image.averageColor(in: PixelRect(x: 1, y: -5, width: 9, height: 9)), 0, 0, 1, 1.0 / 3))
        #expect(image.averageColor(in: PixelRect(x: 2, y: 0, width: 1, height: 1)) == nil)
    }

    @Test func whatThereIsMostOfDominates() throws {
        let image = try shuffled(
            [
                ([200, 30, 30, 255], 500), ([30, 30, 200, 255], 300), ([0, 0, 0, 0], 1_000), ([10, 200, 10, 255], 200),
            ],
            width: 50)
        #expect(isClose(image.dominantColor(), 200.0 / 255, 30.0 / 255, 30.0 / 255))
    }

    @Test func similarColorsCountTogether() throws {
        // Ten reds that differ a little, none of them as frequent as the blue.
        let reds = (0..<10).map { (pixel: [200 + UInt8($0), 30, 30, 255], count: 60) }
        let image = try shuffled(reds + [([30, 30, 200, 255], 400)], width: 50)
        #expect(isClose(image.dominantColor(), 204.5 / 255, 30.0 / 255, 30.0 / 255))
    }

    @Test func faintPixelsCountLittle() throws {
        let image = try shuffled([([20, 0, 0, 20], 900), ([0, 0, 255, 255], 100)], width: 10)
        #expect(isClose(image.dominantColor(), 0, 0, 1))
    }

    @Test func theOrderOfPixelsMakesNoDifference() throws {
        let counts = (0..<40).map { (index: Int) -> (pixel: [UInt8], count: Int) in
            let pixel = [index * 6, 255 - index * 5, index * 37 % 256, 255]
            return (pixel.map(UInt8.init), 25)
        }
        let images = try [1, 2].map { try shuffled(counts, width: 50, seed: $0) }
        #expect(images[0].dominantColor() == images[1].dominantColor())
        #expect(images[0].palette(count: 5) == images[1].palette(count: 5))
    }

    @Test func palettesPartTheColors() throws {
        let image = try shuffled(
            [([200, 30, 30, 255], 500), ([30, 30, 200, 255], 300), ([10, 200, 10, 255], 200)], width: 50)
        let palette = image.palette(count: 3)
        #expect(palette.count == 3)
        #expect(isClose(palette[0], 200.0 / 255, 30.0 / 255, 30.0 / 255))
        #expect(isClose(palette[1], 30.0 / 255, 30.0 / 255, 200.0 / 255))
        #expect(isClose(palette[2], 10.0 / 255, 200.0 / 255, 10.0 / 255))
        #expect(image.palette(count: 100).count == 3)
        #expect(image.palette(count: 1).count == 1)
        #expect(image.palette(count: 0).isEmpty)
        #expect(image.palette(count: -1).isEmpty)
    }

    @Test func largePicturesAreSampled() throws {
        let image = try EffectPixels(width: 700, height: 400, pixel: [0, 128, 255, 255]).image()
        #expect(isClose(image.dominantColor(), 0, 0.502, 1))
    }
}
