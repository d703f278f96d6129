import CWebImageKernels
import Testing
import WebImageTestSupport

@testable import WebImageProcessing

/// Compares the geometry kernels with portable ones and formulas, on random sizes and strides.
@Suite(.timeLimit(.minutes(3))) struct GeometryKernelTests {
    /// Premultiplied noise in rows with gaps.
    private struct Noise {
        let width: Int
        let height: Int
        let stride: Int
        let bytes: [UInt8]

        init(width: Int, height: Int, gap: Int, using generator: inout SplitMix64) {
            self.width = width
            self.height = height
            stride = width * 4 + gap
            var bytes = generator.bytes(count: stride * height)
            bytes.withUnsafeMutableBufferPointer { bytes in
                guard let start = bytes.baseAddress else { return }
                for row in 0..<height { cwi_premultiply(start + row * (width * 4 + gap), width) }
            }
            self.bytes = bytes
        }
    }

    /// Weights that add up to 1 with all kinds of overshoot.
    private static let weights: [Int16] = (0..<256).flatMap { phase -> [Int16] in
        let sides = [-phase * 4, phase * 64, -(255 - phase) * 5]
        return [Int16(sides[0]), Int16(16384 - sides.reduce(0, +)), Int16(sides[1]), Int16(sides[2])]
    }

    @Test func samplesLinesLikeThePortableKernel() {
        var generator = SplitMix64(seed: 11)
        for _ in 0..<300 {
            let noise = Noise(
                width: .random(in: 1...40, using: &generator), height: .random(in: 1...40, using: &generator),
                gap: 4 * .random(in: 0...5, using: &generator), using: &generator)
            let count = Int.random(in: 1...70, using: &generator)
            func position() -> Int64 { .random(in: -(20 << 32)...(60 << 32), using: &generator) }
            func step() -> Int64 { .random(in: -(2 << 32)...(2 << 32), using: &generator) }
            let (x, y, stepX, stepY) = (position(), position(), step(), step())
            var (fast, plain) = ([UInt8](repeating: 1, count: count * 4), [UInt8](repeating: 2, count: count * 4))
            cwi_sample_line(
                noise.bytes, noise.stride, noise.width, noise.height, Self.weights, x, y, stepX, stepY, &fast, count)
            cwi_sample_line_portable(
                noise.bytes, noise.stride, noise.width, noise.height, Self.weights, x, y, stepX, stepY, &plain, count)
            #expect(fast == plain)
        }
    }

    @Test func resamplesLikeThePortableKernels() {
        var generator = SplitMix64(seed: 12)
        for _ in 0..<200 {
            let noise = Noise(
                width: .random(in: 1...90, using: &generator), height: .random(in: 1...30, using: &generator),
                gap: 4 * .random(in: 0...5, using: &generator), using: &generator)
            let stride = 4 * Int.random(in: 1...4, using: &generator)
            let output = Int.random(in: 1...50, using: &generator)
            let weights = (0..<output * stride).map { _ in Int16.random(in: -3000...6000, using: &generator) }
            let rows = [Int32.random(in: 0..<Int32(noise.height), using: &generator)]
            let columns = (0..<output).map { _ in Int32.random(in: 0..<Int32(noise.width), using: &generator) }
            let lineLength = (noise.width + stride) * 4
            var (fast, plain) = ([Int16](repeating: 0, count: lineLength), [Int16](repeating: 0, count: lineLength))
            var (fastRow, plainRow) = (
                [UInt8](repeating: 1, count: output * 4), [UInt8](repeating: 2, count: output * 4)
            )
            weights.withUnsafeBufferPointer { weights in
                rows.withUnsafeBufferPointer { rows in
                    let filter = cwi_filter(
                        weights: weights.baseAddress, first: rows.baseAddress, stride: stride, precision: 14)
                    cwi_resample_vertically(noise.bytes, noise.stride, noise.height, noise.width, filter, 0, &fast)
                    cwi_resample_vertically_portable(
                        noise.bytes, noise.stride, noise.height, noise.width, filter, 0, &plain)
                }
                columns.withUnsafeBufferPointer { columns in
                    let filter = cwi_filter(
                        weights: weights.baseAddress, first: columns.baseAddress, stride: stride, precision: 14)
                    cwi_resample_horizontally(fast, filter, &fastRow, output)
                    cwi_resample_horizontally_portable(plain, filter, &plainRow, output)
                }
            }
            #expect(fast == plain)
            #expect(fastRow == plainRow)
        }
    }

    @Test func averagesBoxes() {
        var generator = SplitMix64(seed: 13)
        for _ in 0..<100 {
            let noise = Noise(
                width: .random(in: 1...70, using: &generator), height: .random(in: 1...20, using: &generator),
                gap: 4 * .random(in: 0...5, using: &generator), using: &generator)
            let columns = Int.random(in: 1...30, using: &generator)
            let count = (noise.width + columns - 1) / columns
            var sums = [UInt16](repeating: 7, count: noise.width * 4)
            var averages = [UInt8](repeating: 1, count: count * 4)
            cwi_shrink_boxes(noise.bytes, noise.stride, noise.height, noise.width, columns, &sums, &averages)
            for index in averages.indices {
                let box = index / 4 * columns..<min((index / 4 + 1) * columns, noise.width)
                var sum = 0
                for y in 0..<noise.height {
                    for x in box { sum += Int(noise.bytes[y * noise.stride + x * 4 + index % 4]) }
                }
                let pixelCount = box.count * noise.height
                #expect(abs(Double(averages[index]) - Double(sum) / Double(pixelCount)) <= 0.5001)
            }
        }
    }

    @Test func averagesTheLargestBoxOfWhite() {
        let white = [UInt8](repeating: 255, count: 255 * 4)
        var sums = [UInt16](repeating: 0, count: 255 * 4)
        var average: [UInt8] = [0, 0, 0, 0]
        // The same row 255 times.
        cwi_shrink_boxes(white, 0, 255, 255, 255, &sums, &average)
        #expect(average == [255, 255, 255, 255])
    }

    @Test func masksRoundOnce() {
        var generator = SplitMix64(seed: 14)
        for count in [1, 2, 7, 33, 1000] {
            let above = Noise(width: count, height: 1, gap: 0, using: &generator).bytes
            let below = Noise(width: count, height: 1, gap: 0, using: &generator).bytes
            let mask = generator.bytes(count: count)
            let border = mask.map { UInt8.random(in: 0...$0, using: &generator) }
            var masked = [UInt8](repeating: 1, count: count * 4)
            cwi_mask(above, mask, &masked, count)
            var blended = below
            cwi_blend_over_masked(above, mask, &blended, count)
            var bordered = masked
            let color: [UInt8] = [90, 0, 140, 150]
            cwi_mask_with_border(above, mask, border, 0x968C_005A, &bordered, count)
            for index in 0..<count * 4 {
                let (source, alpha) = (Double(above[index]), Double(above[index / 4 * 4 + 3]) / 255)
                let (share, line) = (Double(mask[index / 4]) / 255, Double(border[index / 4]) / 255)
                #expect(masked[index] == UInt8((source * share).rounded()))
                let over = source * share + Double(below[index]) * (1 - alpha * share)
                #expect(abs(Double(blended[index]) - over) <= 0.5001)
                let edge = source * (share - line * 150 / 255) + Double(color[index % 4]) * line
                #expect(abs(Double(bordered[index]) - edge) <= 0.5001)
                #expect(bordered[index] <= bordered[index / 4 * 4 + 3])
                #expect(blended[index] <= blended[index / 4 * 4 + 3])
            }
        }
    }
}

@Suite(.timeLimit(.minutes(3))) struct SwappingTests {
    @Test func swapsRedAndBlue() {
        var random = SplitMix64(seed: 4)
        for count in [0, 1, 3, 7, 8, 9, 31, 64, 1_001] {
            let source = random.bytes(count: count * 4 + 1)
            var swapped = source
            cwi_swap_red_and_blue(source, &swapped, count)
            let expected = (0..<count).flatMap { index in [2, 1, 0, 3].map { source[index * 4 + $0] } }
            #expect(swapped.dropLast() == expected[...] && swapped.last == source.last)

            swapped.withUnsafeMutableBufferPointer { bytes in
                guard let start = bytes.baseAddress else { return }
                cwi_swap_red_and_blue(start, start, count)
            }
            #expect(swapped == source)
        }
    }
}
