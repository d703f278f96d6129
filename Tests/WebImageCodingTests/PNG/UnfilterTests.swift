import CWebImageKernels
import Testing
import WebImageTestSupport

/// The kernels that undo PNG's filters.
@Suite struct UnfilterTests {
    @Test(arguments: UInt8(0)...4, [1, 2, 3, 4, 6, 8])
    func undoesEveryFilterOnEveryProcessor(filter: UInt8, bytesPerPixel: Int) {
        var generator = SplitMix64(seed: UInt64(filter) * 10 + UInt64(bytesPerPixel))
        for width in Array(1...20) + [63, 64, 65, 201] {
            let count = width * bytesPerPixel
            let samples = (0..<count * 2).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let filtered = PNGWriter.filtered(
                samples, rowByteCount: count, bytesPerPixel: bytesPerPixel, filter: { _ in filter })
            let source = Array(filtered.suffix(count))
            let above = Array(samples.prefix(count))
            // What lies behind the row must stay as it is.
            var row = [UInt8](repeating: 99, count: count + 8)
            var portable = row
            #expect(cwi_png_unfilter(filter, source, above, &row, count, bytesPerPixel))
            #expect(cwi_png_unfilter_portable(filter, source, above, &portable, count, bytesPerPixel))
            let expected = Array(samples.suffix(count)) + [UInt8](repeating: 99, count: 8)
            #expect(row == expected, "\(width) pixels")
            #expect(portable == expected, "\(width) pixels")
        }
    }

    @Test func refusesFiltersThatDoNotExist() {
        var row: [UInt8] = [1, 2, 3]
        #expect(!cwi_png_unfilter(5, [4, 5, 6], [7, 8, 9], &row, 3, 3))
        #expect(!cwi_png_unfilter_portable(5, [4, 5, 6], [7, 8, 9], &row, 3, 3))
        #expect(row == [1, 2, 3])
    }

    @Test(arguments: Array(0...40) + [100])
    func spreadsOtherPixelsToFourBytes(count: Int) {
        var generator = SplitMix64(seed: UInt64(count))
        let bytes = (0..<count * 3).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let palette = (0..<256).map { _ in UInt32.random(in: 0 ... .max, using: &generator) }
        func spread(_ kernel: (inout [UInt8]) -> Void) -> [UInt8] {
            var pixels = [UInt8](repeating: 99, count: count * 4 + 4)
            kernel(&pixels)
            #expect(pixels.suffix(4) == [99, 99, 99, 99])
            return pixels.dropLast(4)
        }
        func expected(_ pixel: (Int) -> [UInt8]) -> [UInt8] { (0..<count).flatMap(pixel) }
        let rgb = spread { cwi_rgb_to_rgba(bytes, &$0, count) }
        #expect(rgb == expected { bytes[$0 * 3..<$0 * 3 + 3] + [255] })
        let gray = spread { cwi_gray_to_rgba(bytes, &$0, count) }
        #expect(gray == expected { [bytes[$0], bytes[$0], bytes[$0], 255] })
        let grayAlpha = spread { cwi_gray_alpha_to_rgba(bytes, &$0, count) }
        #expect(grayAlpha == expected { [bytes[$0 * 2], bytes[$0 * 2], bytes[$0 * 2], bytes[$0 * 2 + 1]] })
        let colors = spread { cwi_indices_to_rgba(bytes, palette, &$0, count) }
        #expect(
            colors
                == expected { index in
                    let word = palette[Int(bytes[index])]
                    return [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> $0) }
                })
    }
}
