import Testing
import WebImageCore

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct ComparisonTests {
    /// Waves of several lengths, so that all frequencies have something.
    private func waves(_ width: Int, _ height: Int, shift: Int = 0, noise: Int = 0) throws -> Image {
        let bytes = (0..<width * height).flatMap { index -> [UInt8] in
            let (x, y) = (Double(index % width) / Double(width), Double(index / width) / Double(height))
            let bump = x * x * 90 + (1 - y) * 60 + (x > 0.3 && x < 0.6 && y > 0.5 ? 70 : 0) + (x * y > 0.4 ? 30 : 0)
            let value = UInt8(min(255, max(0, Int(bump) + shift + (index * 7919 % 31 - 15) * noise / 15)))
            return [value, value, value / 2, 255]
        }
        return Image(
            pixels: try GeometryFixture.buffer(PixelSize(width: width, height: height), bytes, isOpaque: true))
    }

    @Test func equalImagesHaveNoDifference() throws {
        let comparison = try ImageComparison(waves(40, 30), waves(40, 30))
        #expect(comparison.isEqual && comparison.differingPixelCount == 0 && comparison.largestDifference == 0)
        #expect(comparison.peakSignalToNoiseRatio == .infinity)
        #expect(comparison.structuralSimilarity == 1)
    }

    @Test func countsDifferencesOfComponents() throws {
        let second = try flat(10, 10, [200, 100, 50, 255]).processed(by: [
            .blend(try flat(2, 3, [200, 90, 53, 255]), id: "patch", x: 4, y: 5)
        ])
        let comparison = try ImageComparison(flat(10, 10, [200, 100, 50, 255]), second)
        #expect(!comparison.isEqual)
        #expect(comparison.differingPixelCount == 6)
        #expect(comparison.largestDifference == 10)
        // 6 pixels of 10² + 3², over 300 components: 2.18.
        #expect(abs(comparison.peakSignalToNoiseRatio - 44.746) < 0.001)
    }

    /// Rows are compared from the top down.
    @Test func theLargestDifferenceMayBeTheFirst() throws {
        let second = try flat(10, 10, [200, 100, 50, 255]).processed(by: [
            .blend(try flat(1, 1, [200, 90, 50, 255]), id: "large", x: 4, y: 1),
            .blend(try flat(1, 1, [200, 97, 50, 255]), id: "small", x: 4, y: 5),
        ])
        #expect(try ImageComparison(flat(10, 10, [200, 100, 50, 255]), second).largestDifference == 10)
    }

    @Test func alphaCounts() throws {
        let comparison = try ImageComparison(flat(8, 8, [0, 0, 0, 255]), flat(8, 8, [0, 0, 0, 254]))
        #expect(comparison.largestDifference == 1)
        #expect(abs(comparison.peakSignalToNoiseRatio - 54.151) < 0.001)
    }

    @Test func similarityFollowsTheStructure() throws {
        let original = try waves(64, 48)
        func similarity(_ other: Image) throws -> Double { try ImageComparison(original, other).structuralSimilarity }
        let (brighter, noisy) = (try similarity(waves(64, 48, shift: 8)), try similarity(waves(64, 48, noise: 8)))
        #expect(brighter > 0.9 && brighter < 1)
        #expect(noisy < brighter)
        #expect(try similarity(flat(64, 48)) < 0.5)
    }

    /// Of one block, whose numbers can be computed by hand: means 100 and 110, no variance.
    @Test func similarityIsThatOfTheDefinition() throws {
        let comparison = try ImageComparison(
            flat(8, 8, [100, 100, 100, 255]), flat(8, 8, [110, 110, 110, 255]))
        // The constant is (0.01 · 255)².
        let (first, second, constant): (Double, Double, Double) = (100, 110, 6.5025)
        let squares: Double = first * first + second * second
        let expected: Double = (2 * first * second + constant) / (squares + constant)
        #expect(abs(comparison.structuralSimilarity - expected) < 1e-9)
        #expect(try ImageComparison(flat(1, 1), flat(1, 1)).structuralSimilarity == 1)
    }

    @Test func refusesImagesOfSeveralSizes() throws {
        let (first, second) = (try flat(3, 2), try flat(2, 3))
        #expect(throws: WebImageError.self) { try ImageComparison(first, second) }
    }

    @Test func showsWhereImagesDiffer() throws {
        let first = try flat(10, 10)
        let second = try first.processed(by: [.blend(try flat(1, 1, [0, 0, 0, 255]), id: "dot", x: 3, y: 4)])
        let image = try ImageComparison(first, second).differenceImage().pixels
        #expect(image.isOpaque && image.size == first.pixels.size)
        for y in 0..<10 {
            for x in 0..<10 {
                let pixel = image[x, y]
                #expect((x == 3 && y == 4) == (pixel.x > pixel.y), "\(x), \(y)")
            }
        }
    }

    @Test func hashesOfVersionsAreClose() throws {
        let hash = try PerceptualHash(of: waves(320, 240))
        #expect(try hash.distance(to: PerceptualHash(of: waves(64, 48))) <= 4)
        #expect(try hash.distance(to: PerceptualHash(of: waves(320, 240, shift: 12))) <= 2)
        #expect(try hash.distance(to: PerceptualHash(of: waves(320, 240, noise: 10))) <= 10)
        let mirrored = try waves(320, 240).processed(by: [.flip(horizontally: true)])
        #expect(try hash.distance(to: PerceptualHash(of: mirrored)) > 16)
    }

    @Test func hashesHaveHalfOfTheirBitsSet() throws {
        #expect(try PerceptualHash(of: waves(320, 240)).value.nonzeroBitCount == 32)
        // All waves of a plain image but the first are zero.
        #expect(try PerceptualHash(of: flat(32, 32)).value == 1 << 63)
    }

    @Test func hashesAreHexadecimalText() {
        #expect(PerceptualHash(0x0F37_3714_ACFC_F4D0).description == "0f373714acfcf4d0")
        #expect(PerceptualHash("0f373714acfcf4d0")?.value == 0x0F37_3714_ACFC_F4D0)
        #expect(PerceptualHash("0F373714ACFCF4D") == nil)
        #expect(PerceptualHash("+f373714acfcf4d0") == nil)
        #expect(PerceptualHash(0).distance(to: PerceptualHash(.max)) == 64)
    }

    @Test func transparentImagesAreHashedOverTheBackground() throws {
        let clear = try flat(8, 8, [0, 0, 0, 0])
        #expect(try PerceptualHash(of: clear) == PerceptualHash(of: flat(8, 8, [255, 255, 255, 255])))
        #expect(try PerceptualHash(of: clear, background: .black).value == 0)
    }
}
