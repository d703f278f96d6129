import CWebImageKernels
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

@Suite struct BlendModeTests {
    /// Each alpha of the source above each of the backdrop, with every kind of colour.
    @Test(arguments: Array(BlendMode.allCases.enumerated()).map(\.offset))
    func isCairosToALevel(index: Int) throws {
        let source = try EffectPixels(fixture: "blend-source")
        let backdrop = try EffectPixels(fixture: "blend-backdrop")
        let expected = try EffectPixels(fixture: "blend-modes")
        let mode = BlendMode.allCases[index]
        let result = try backdrop.image().blended(with: source.image(), mode: mode)
        let reference = expected.rows(from: index * backdrop.height, count: backdrop.height)
        #expect(EffectPixels(result).difference(from: reference) <= 1, "\(mode)")
    }

    @Test(arguments: BlendMode.allCases) func givesPremultipliedPixels(mode: BlendMode) throws {
        let (above, below) = (EffectPixels(noise: 37, 21, seed: 1), EffectPixels(noise: 37, 21, seed: 2))
        let result = try below.image().blended(with: above.image(), mode: mode, opacity: 0.7)
        #expect(EffectPixels(result).isPremultiplied)
    }

    /// Lengths that no vector divides, and addresses that none starts at.
    @Test(arguments: BlendMode.allCases) func givesTheSameOnEveryProcessor(mode: BlendMode) {
        let (above, below) = (EffectPixels(noise: 101, 7, seed: 3).bytes, EffectPixels(noise: 101, 7, seed: 4).bytes)
        var generator = SplitMix64(seed: 5)
        for _ in 0..<40 {
            let count = Int.random(in: 0...600, using: &generator)
            let start = Int.random(in: 0...100, using: &generator) * 4
            let opacity = Float.random(in: 0...1, using: &generator)
            var fast = [UInt8](repeating: 9, count: (count + 1) * 4)
            var portable = fast
            above[start...].withUnsafeBufferPointer { above in
                below[start...].withUnsafeBufferPointer { below in
                    cwi_blend(mode.kernel, above.baseAddress, below.baseAddress, &fast, count, opacity)
                    cwi_blend_portable(mode.kernel, above.baseAddress, below.baseAddress, &portable, count, opacity)
                }
            }
            #expect(fast == portable)
            #expect(fast.suffix(4) == [9, 9, 9, 9])
        }
    }

    @Test(arguments: BlendMode.allCases) func saysOpaqueOnlyOfWhatIs(mode: BlendMode) throws {
        let below = EffectPixels(noise: 20, 20, seed: 6, isOpaque: true)
        for isOpaque in [true, false] {
            let above = EffectPixels(noise: 9, 9, seed: 7, isOpaque: isOpaque)
            for opacity in [1, 0.5] {
                let result = try below.image().blended(with: above.image(), x: 3, y: 2, mode: mode, opacity: opacity)
                #expect(!result.pixels.isOpaque || EffectPixels(result).isOpaque, "\(mode)")
            }
        }
        #expect(try below.image().blended(with: below.image()).pixels.isOpaque)
    }
}
