import CodingTestSupport
import CWebImageKernels
import Testing
import WebImageTestSupport
import WebImageCore

@testable import WebImageCoding

/// The C kernels compared with their formulas, on every input if there are few, else on noise.
@Suite(.timeLimit(.minutes(3))) struct PixelKernelTests {
    private func noise(pixelCount: Int, seed: UInt64 = 5) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        return generator.bytes(count: pixelCount * 4)
    }

    /// Colors 0 to 255 with every alpha.
    private var everyColorAndAlpha: [UInt8] {
        (UInt8.min...UInt8.max).flatMap { alpha in
            (UInt8.min...UInt8.max).flatMap { color -> [UInt8] in [color, 255 - color, color / 2, alpha] }
        }
    }

    private func roundedProduct(_ first: UInt8, _ second: UInt8) -> UInt8 {
        UInt8((Double(first) * Double(second) / 255).rounded())
    }

    @Test func premultipliesWithRounding() {
        let straight = everyColorAndAlpha
        var pixels = straight
        #expect(!cwi_premultiply(&pixels, pixels.count / 4))
        for index in pixels.indices {
            let alpha = straight[index / 4 * 4 + 3]
            let expected = index % 4 == 3 ? alpha : roundedProduct(straight[index], alpha)
            #expect(pixels[index] == expected)
        }
    }

    @Test(arguments: [1, 2, 7, 33])
    func detectsOpaquePixels(count: Int) {
        var pixels = [UInt8](repeating: 255, count: count * 4)
        #expect(cwi_premultiply(&pixels, count))
        #expect(cwi_is_opaque(pixels, count))
        pixels[count * 4 - 1] = 254
        #expect(!cwi_is_opaque(pixels, count))
        #expect(!cwi_premultiply(&pixels, count))
    }

    @Test func undoesPremultiplication() {
        var pixels = everyColorAndAlpha
        cwi_premultiply(&pixels, pixels.count / 4)
        var straight = [UInt8](repeating: 1, count: pixels.count)
        cwi_unpremultiply(pixels, &straight, pixels.count / 4)
        for index in pixels.indices where index % 4 != 3 {
            let alpha = pixels[index / 4 * 4 + 3]
            let expected = alpha == 0 ? 0 : (Double(pixels[index]) * 255 / Double(alpha)).rounded()
            #expect(Double(straight[index]) == expected)
        }
        // Premultiplied pixels round-trip.
        cwi_premultiply(&straight, straight.count / 4)
        #expect(straight == pixels)
    }

    @Test func blendsPixelsOverAColor() {
        var pixels = everyColorAndAlpha
        cwi_premultiply(&pixels, pixels.count / 4)
        var flat = [UInt8](repeating: 0, count: pixels.count)
        cwi_flatten(pixels, &flat, pixels.count / 4, 200, 100, 3)
        for index in pixels.indices {
            let rest = 255 - pixels[index / 4 * 4 + 3]
            let behind: UInt8 = [200, 100, 3, 255][index % 4]
            #expect(flat[index] == pixels[index] + roundedProduct(behind, rest))
        }
    }

    /// Each color with each alpha over each alpha below, in rows that are not multiples of a vector.
    @Test(arguments: [0, 1, 7, 100, 254, 255] as [UInt8])
    func blendsPixelsOverOthers(alphaBelow: UInt8) {
        var above = everyColorAndAlpha
        cwi_premultiply(&above, above.count / 4)
        let below = above.indices.map { (index: Int) -> UInt8 in
            let color = index % 251 * Int(alphaBelow) / 255
            return index % 4 == 3 ? alphaBelow : UInt8(color)
        }
        for count in [above.count / 4, 33, 7, 0] {
            var pixels = below
            cwi_blend_over(above, &pixels, count)
            for index in pixels.indices.prefix(count * 4) {
                let rest = 255 - above[index / 4 * 4 + 3]
                let expected: UInt8 = above[index] + roundedProduct(below[index], rest)
                #expect(pixels[index] == expected)
            }
            #expect(pixels[(count * 4)...] == below[(count * 4)...])
        }
    }

    @Test func convertsCMYK() {
        let ink = everyColorAndAlpha
        var pixels = ink
        cwi_inverted_cmyk_to_rgba(&pixels, pixels.count / 4)
        for index in pixels.indices {
            let expected = index % 4 == 3 ? 255 : roundedProduct(ink[index], ink[index / 4 * 4 + 3])
            #expect(pixels[index] == expected)
        }
    }

    @Test(arguments: [(1, 1), (5, 3), (16, 16), (37, 50)], ImageOrientation.allCases)
    func rotatesPixelsUpright(size: (width: Int, height: Int), orientation: ImageOrientation) throws {
        let stored = Pixels(
            size: PixelSize(width: size.width, height: size.height), bytes: noise(pixelCount: size.width * size.height))
        let upright = try stored.buffer().upright(from: orientation)
        #expect(upright.size == orientation.upright(stored.size))
        for y in 0..<upright.height {
            for x in 0..<upright.width {
                // EXIF 2.3, 4.6.4: which side of the stored image is the visual top and left.
                let (storedX, storedY) =
                    switch orientation {
                    case .up: (x, y)
                    case .upMirrored: (size.width - 1 - x, y)
                    case .down: (size.width - 1 - x, size.height - 1 - y)
                    case .downMirrored: (x, size.height - 1 - y)
                    case .leftMirrored: (y, x)
                    case .right: (y, size.height - 1 - x)
                    case .rightMirrored: (size.width - 1 - y, size.height - 1 - x)
                    case .left: (size.width - 1 - y, x)
                    }
                let start = (storedY * size.width + storedX) * 4
                let pixel = upright[x, y]
                #expect((0..<4).allSatisfy { pixel[$0] == stored.bytes[start + $0] }, "pixel \(x), \(y)")
            }
        }
    }
}
