import CWebImageKernels
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

@Suite struct ColorMatrixTests {
    private static let mixed = ColorMatrix(
        red: .init(red: 0.5, green: 0.2, alpha: 0.3, constant: 0.1),
        green: .init(green: 0.8, blue: 0.1, alpha: -0.2, constant: 0.05),
        blue: .init(red: 0.3, blue: 0.9, constant: -0.1),
        alpha: .init(red: 0.2, green: 0.1, alpha: 0.6, constant: 0.1))

    /// The committed pictures are of straight colours; ours have lost what 8 bits premultiplied can't hold.
    @Test(arguments: [("sepia", ColorMatrix.sepia()), ("inverted", .inverted), ("alpha", mixed)])
    func isImageMagicksToALevel(name: String, matrix: ColorMatrix) throws {
        let picture = try EffectPixels(fixture: "blur-picture")
        let expected = try EffectPixels(fixture: "matrix-\(name)")
        let result = EffectPixels(try picture.image().recolored(by: matrix))
        for index in stride(from: 0, to: picture.bytes.count, by: 4) {
            let alpha = Int(picture.bytes[index + 3])
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

    @Test func theIdentityChangesNothing() throws {
        let picture = try EffectPixels(noise: 31, 17, seed: 3).image()
        #expect(try picture.recolored(by: .identity).pixels === picture.pixels)
    }

    @Test(arguments: [ColorMatrix.grayscale, .sepia(), mixed, .brightness(0.3)])
    func givesPremultipliedPixels(matrix: ColorMatrix) throws {
        let result = try EffectPixels(noise: 37, 21, seed: 4).image().recolored(by: matrix)
        #expect(EffectPixels(result).isPremultiplied)
    }

    @Test func graysKeepTheirLuma() throws {
        let colors = EffectPixels(noise: 50, 20, seed: 5, isOpaque: true)
        let result = EffectPixels(try colors.image().grayscaled())
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

    @Test func brightnessAndContrastAreCutAtBlackAndWhite() throws {
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

    @Test func oneMatrixDoesTheWorkOfTwo() throws {
        let colors = try EffectPixels(noise: 40, 10, seed: 6).image()
        let matrices = [ColorMatrix.saturation(0.5), .sepia(0.7)]
        let inTurn = try colors.recolored(by: matrices[0]).recolored(by: matrices[1])
        let atOnce = try colors.recolored(by: matrices[0].followed(by: matrices[1]))
        #expect(EffectPixels(inTurn).difference(from: EffectPixels(atOnce)) <= 2)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300]) func refusesWhatIsNoNumber(element: Double) throws {
        let image = try EffectPixels(width: 1, height: 1, pixel: [1, 2, 3, 4]).image()
        #expect(throws: WebImageError.self) { try image.adjusted(saturation: element) }
        #expect(throws: WebImageError.self) { try image.adjusted(brightness: element) }
        #expect(throws: WebImageError.self) { try image.recolored(by: ColorMatrix(alpha: .init(constant: element))) }
    }

    @Test func isKnownByItsNumbers() {
        let processors: [ImageProcessors.ColorTransform] = [
            .grayscale(), .inverted(), .sepia(), .sepia(0.5), .color(saturation: 2), .color(brightness: 2),
            .color(contrast: 2), .colorMatrix(.identity),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
        #expect(ImageProcessors.ColorTransform.color(saturation: 0).identifier == processors[0].identifier)
        #expect(
            ImageProcessors.ColorTransform.color(saturation: 1, brightness: -0.0).identifier == processors[7].identifier
        )
    }
}
