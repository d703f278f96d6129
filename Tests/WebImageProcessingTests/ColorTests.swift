import CWebImageKernels
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct ColorMatrixTests {
    private static let mixed = ColorMatrix(
        red: .init(red: 0.5, green: 0.2, alpha: 0.3, constant: 0.1),
        green: .init(green: 0.8, blue: 0.1, alpha: -0.2, constant: 0.05),
        blue: .init(red: 0.3, blue: 0.9, constant: -0.1),
        alpha: .init(red: 0.2, green: 0.1, alpha: 0.6, constant: 0.1))

    /// The fixtures have straight colors; premultiplied colors of 8 bits are less precise.
    @Test(arguments: [("sepia", ColorMatrix.sepia()), ("inverted", .inverted), ("alpha", mixed)])
    func matchesImageMagick(name: String, matrix: ColorMatrix) throws {
        let input = try EffectPixels(fixture: "blur-picture")
        let expected = try EffectPixels(fixture: "matrix-\(name)")
        let result = EffectPixels(try input.image().recolored(by: matrix))
        for index in stride(from: 0, to: input.bytes.count, by: 4) {
            let alpha = Int(input.bytes[index + 3])
            let lost = alpha == 255 ? 1 : 2 + (matrix.keepsAlpha ? 0 : 300 / max(1, alpha))
            for byte in index..<index + 4 {
                #expect(abs(Int(result.bytes[byte]) - Int(expected.bytes[byte])) <= lost, "alpha \(alpha)")
            }
        }
    }

    @Test func givesTheSameOnEveryProcessor() {
        let source = EffectPixels(noise: 101, 7, seed: 1).bytes
        var generator = SplitMix64(seed: 2)
        for round in 0..<60 {
            let count = Int.random(in: 0...600, using: &generator)
            let start = Int.random(in: 0...100, using: &generator) * 4
            var matrix = (0..<20).map { _ in Float.random(in: -2...2, using: &generator) }
            if round % 2 == 0 {
                matrix.replaceSubrange(15..., with: [0, 0, 0, 1, 0])
                for index in [3, 8, 13] { matrix[index] = 0 }
            }
            var fast = [UInt8](repeating: 9, count: (count + 1) * 4)
            var portable = fast
            source[start...].withUnsafeBufferPointer { source in
                cwi_recolor(source.baseAddress, &fast, count, matrix)
                cwi_recolor_portable(source.baseAddress, &portable, count, matrix)
            }
            #expect(fast == portable)
            #expect(fast.suffix(4) == [9, 9, 9, 9])
        }
    }

    @Test func raisedAlphaLeavesColorsInTheirChannels() {
        var matrix = [Float](repeating: 0, count: 20)
        for index in [0, 6, 12] { matrix[index] = 1 }
        matrix[18] = 2
        let source: [UInt8] = [255, 128, 0, 255, 100, 50, 0, 100, 200, 50, 0, 200]
        var (fast, portable) = (source, source)
        cwi_recolor(source, &fast, 3, matrix)
        cwi_recolor_portable(source, &portable, 3, matrix)
        #expect(fast == [255, 128, 0, 255, 200, 100, 0, 200, 255, 64, 0, 255])
        #expect(portable == fast)
    }

    @Test func theIdentityChangesNothing() throws {
        let input = try EffectPixels(noise: 31, 17, seed: 3).image()
        #expect(try input.recolored(by: .identity).pixels === input.pixels)
    }

    @Test(arguments: [ColorMatrix.grayscale, .sepia(), mixed, .brightness(0.3)])
    func givesPremultipliedPixels(matrix: ColorMatrix) throws {
        let result = try EffectPixels(noise: 37, 21, seed: 4).image().recolored(by: matrix)
        #expect(EffectPixels(result).isPremultiplied)
    }

    @Test func graysKeepTheirLuma() throws {
        let colors = EffectPixels(noise: 50, 20, seed: 5, isOpaque: true)
        let result = EffectPixels(try colors.image().processed(by: [.grayscale()]))
        for index in stride(from: 0, to: colors.bytes.count, by: 4) {
            let pixel = colors.bytes[index..<index + 3].map(Double.init)
            let luma = 0.2126 * pixel[0] + 0.7152 * pixel[1] + 0.0722 * pixel[2]
            let gray = result.bytes[index]
            #expect(abs(Double(gray) - luma) <= 0.501)
            #expect(
                result.bytes[index + 1] == gray && result.bytes[index + 2] == gray && result.bytes[index + 3] == 255)
        }
        let gray = EffectPixels(width: 3, height: 3, pixel: [77, 77, 77, 200])
        #expect(EffectPixels(try gray.image().adjusted(saturation: 5)) == gray)
    }

    @Test func brightnessAndContrastAreClamped() throws {
        let gray = try EffectPixels(width: 2, height: 2, pixel: [100, 128, 200, 255]).image()
        func pixel(_ image: Image) -> [UInt8] { EffectPixels(image)[1, 1] }
        #expect(pixel(try gray.adjusted(brightness: 1)) == [255, 255, 255, 255])
        #expect(pixel(try gray.adjusted(brightness: -1)) == [0, 0, 0, 255])
        #expect(pixel(try gray.adjusted(brightness: 0.2)) == [151, 179, 251, 255])
        #expect(pixel(try gray.adjusted(contrast: 2)) == [73, 129, 255, 255])
        #expect(pixel(try gray.adjusted(contrast: 0)) == [128, 128, 128, 255])
    }

    @Test func clearPixelsStayClearUnlessAlphaIsAddedTo() throws {
        let clear = try EffectPixels(width: 3, height: 1, pixel: [0, 0, 0, 0]).image()
        #expect(EffectPixels(try clear.recolored(by: .inverted)).bytes.allSatisfy { $0 == 0 })
        let solid = ColorMatrix(red: .init(constant: 1), alpha: .init(constant: 1))
        #expect(EffectPixels(try clear.recolored(by: solid))[0, 0] == [255, 0, 0, 255])
    }

    @Test func matricesCombine() throws {
        let colors = try EffectPixels(noise: 40, 10, seed: 6).image()
        let matrices = [ColorMatrix.saturation(0.5), .sepia(0.7)]
        let inTurn = try colors.recolored(by: matrices[0]).recolored(by: matrices[1])
        let atOnce = try colors.recolored(by: matrices[0].followed(by: matrices[1]))
        #expect(EffectPixels(inTurn).difference(from: EffectPixels(atOnce)) <= 2)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300]) func rejectsInvalidElements(element: Double) throws {
        let image = try EffectPixels(width: 1, height: 1, pixel: [1, 2, 3, 4]).image()
        #expect(throws: WebImageError.self) { try image.adjusted(saturation: element) }
        #expect(throws: WebImageError.self) { try image.adjusted(brightness: element) }
        #expect(throws: WebImageError.self) { try image.recolored(by: ColorMatrix(alpha: .init(constant: element))) }
    }

    @Test func identifierHasTheElements() {
        let processors: [ImageProcessor] = [
            .grayscale(), .inverted(), .sepia(), .sepia(0.5), .color(saturation: 2), .color(brightness: 2),
            .color(contrast: 2), .colorMatrix(.identity),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
        #expect(ImageProcessor.color(saturation: 0).identifier == processors[0].identifier)
        #expect(
            ImageProcessor.color(saturation: 1, brightness: -0.0).identifier == processors[7].identifier
        )
    }
}

@Suite(.timeLimit(.minutes(3))) struct ImageColorsTests {
    private func isClose(_ color: Color?, _ red: Double, _ green: Double, _ blue: Double, _ alpha: Double = 1) -> Bool {
        guard let color else { return false }
        return zip([color.red, color.green, color.blue, color.alpha], [red, green, blue, alpha])
            .allSatisfy { abs($0 - $1) < 0.02 }
    }

    /// An image with a number of pixels of each color, shuffled.
    private func shuffled(_ counts: [(pixel: [UInt8], count: Int)], width: Int, seed: UInt64 = 1) throws -> Image {
        var generator = SplitMix64(seed: seed)
        let pixels = counts.flatMap { Array(repeating: $0.pixel, count: $0.count) }.shuffled(using: &generator)
        return try EffectPixels(width: width, height: pixels.count / width, bytes: pixels.flatMap { $0 }).image()
    }

    @Test func readsStraightColors() throws {
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

    @Test func averagesAreWeightedByAlpha() throws {
        let image = try EffectPixels(width: 2, height: 1, bytes: [255, 0, 0, 255, 0, 0, 85, 85]).image()
        #expect(isClose(image.averageColor, 0.75, 0, 0.25, 2.0 / 3))
        #expect(isClose(image.averageColor(in: PixelRect(x: 1, y: -5, width: 9, height: 9)), 0, 0, 1, 1.0 / 3))
        #expect(image.averageColor(in: PixelRect(x: 2, y: 0, width: 1, height: 1)) == nil)
    }

    @Test func theMostFrequentColorDominates() throws {
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

    @Test func palettesDivideColors() throws {
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

    @Test func largeImagesAreSampled() throws {
        let image = try EffectPixels(width: 700, height: 400, pixel: [0, 128, 255, 255]).image()
        #expect(isClose(image.dominantColor(), 0, 0.502, 1))
    }
}

@Suite(.timeLimit(.minutes(3))) struct SolidColorTests {
    @Test func isFilledWithThePremultipliedColor() throws {
        let image = try Image(
            color: Color(red: 1, green: 0.5, blue: 0, alpha: 0.5), size: PointSize(width: 3, height: 2), scale: 2)
        #expect(image.pixels.size == PixelSize(width: 6, height: 4))
        #expect(image.size == PointSize(width: 3, height: 2))
        #expect(image.pixels.bytes == (0..<24).flatMap { _ in [128, 64, 0, 128] as [UInt8] })
        #expect(try Image(color: .white).pixels.bytes == [255, 255, 255, 255])
    }

    @Test func knowsWhetherItIsTranslucent() throws {
        #expect(try !Image(color: .white).hasAlpha)
        #expect(try Image(color: .clear).hasAlpha)
        // Not known to be opaque, but tested.
        let bytes = [UInt8](repeating: 255, count: 7 * 3 * 4)
        let size = PixelSize(width: 7, height: 3)
        let opaque = Image(pixels: try GeometryFixture.buffer(size, bytes))
        #expect(opaque.hasAlpha)
        #expect(!opaque.hasTranslucentPixels)
        for alpha in [3, 27, 83] {
            var other = bytes
            other[alpha] = 254
            #expect(Image(pixels: try GeometryFixture.buffer(size, other)).hasTranslucentPixels)
        }
        let colored = try Image(color: .white)
        #expect(!colored.hasTranslucentPixels)
    }

    @Test(arguments: [0, -1, .nan, .infinity] as [Double])
    func rejectsInvalidNumbers(value: Double) {
        #expect(throws: WebImageError.self) { try Image(color: .white, size: PointSize(width: value, height: 1)) }
        #expect(throws: WebImageError.self) { try Image(color: .white, size: PointSize(width: 1, height: value)) }
        #expect(throws: WebImageError.self) { try Image(color: .white, scale: value) }
        if !value.isFinite {
            #expect(throws: WebImageError.self) { try Image(color: Color(red: 0, green: 0, blue: 0, alpha: value)) }
        }
    }
}
