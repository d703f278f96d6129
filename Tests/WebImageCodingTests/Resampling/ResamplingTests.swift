import CodingTestSupport
import CWebImageKernels
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// The Lanczos resampler compared with the definition of the filter.
@Suite(.timeLimit(.minutes(3))) struct ResamplingTests {
    private func noise(_ width: Int, _ height: Int, isOpaque: Bool = false) throws -> Pixels {
        var generator = SplitMix64(seed: 9)
        var bytes = generator.bytes(count: width * height * 4)
        if isOpaque { for alpha in stride(from: 3, to: bytes.count, by: 4) { bytes[alpha] = 255 } }
        cwi_premultiply(&bytes, width * height)
        return Pixels(size: PixelSize(width: width, height: height), bytes: bytes)
    }

    private static let sizes = [(1, 1), (3, 2), (13, 40), (40, 13), (64, 47), (96, 61), (150, 9)]

    @Test(arguments: sizes)
    func agreesWithTheFilterInFloatingPoint(width: Int, height: Int) throws {
        let source = try noise(96, 61)
        let size = PixelSize(width: width, height: height)
        let result = Pixels(try source.buffer().resampled(to: size))
        let difference = try #require(result.difference(from: exactlyResampled(source, to: size)))
        #expect(difference <= 1)
    }

    @Test(arguments: sizes)
    func givesTheSameBytesOnEveryProcessor(width: Int, height: Int) throws {
        let source = try noise(96, 61)
        let size = PixelSize(width: width, height: height)
        let result = Pixels(try source.buffer().resampled(to: size))
        let rows = ResamplingWeights(from: 61, to: height, maximumPrecision: 22)
        let columns = ResamplingWeights(from: 96, to: width, maximumPrecision: 16)
        var line = [Int16](repeating: 0, count: (96 + columns.stride) * 4)
        var portable = [UInt8](repeating: 0, count: size.pixelCount * 4)
        rows.withFilter { rows in
            columns.withFilter { columns in
                for row in 0..<height {
                    cwi_resample_vertically_portable(source.bytes, 96 * 4, 61, 96, rows, row, &line)
                    portable.withUnsafeMutableBufferPointer { bytes in
                        guard let start = bytes.baseAddress else { return }
                        cwi_resample_horizontally_portable(line, columns, start + row * width * 4, width)
                    }
                }
            }
        }
        if size != source.size { #expect(result.bytes == portable) }
        #expect(portable.count == result.bytes.count)
    }

    @Test(arguments: [(7, 5), (31, 100), (99, 1), (300, 200)])
    func keepsAnEvenColorUpToTheEdges(width: Int, height: Int) throws {
        let color: [UInt8] = [200, 3, 117, 240]
        let source = Pixels(
            size: PixelSize(width: 100, height: 80), bytes: (0..<100 * 80).flatMap { _ in color })
        let result = try source.buffer().resampled(to: PixelSize(width: width, height: height))
        #expect(Pixels(result).bytes == (0..<width * height).flatMap { _ in color })
    }

    @Test func keepsOpaquePixelsOpaqueAndColorWithinAlpha() throws {
        let opaque = try noise(90, 70, isOpaque: true).buffer(isOpaque: true)
            .resampled(to: PixelSize(width: 33, height: 21))
        #expect(opaque.isOpaque)
        #expect(
            opaque.withUnsafeBytes { bytes in stride(from: 3, to: bytes.count, by: 4).allSatisfy { bytes[$0] == 255 } })
        let clear = Pixels(try noise(90, 70).buffer().resampled(to: PixelSize(width: 33, height: 21)))
        for index in clear.bytes.indices { #expect(clear.bytes[index] <= clear.bytes[index / 4 * 4 + 3]) }
    }

    @Test func weightsAddUpToOne() {
        for (input, output) in [(4032, 1024), (4032, 7), (65_535, 1), (10, 10), (5, 40), (3, 2)] {
            let weights = ResamplingWeights(from: input, to: output, maximumPrecision: 22)
            #expect(weights.stride % 4 == 0)
            for index in 0..<output {
                let span = weights.weights[index * weights.stride..<(index + 1) * weights.stride]
                #expect(span.reduce(0) { $0 + Int($1) } == 1 << weights.precision, "\(input) to \(output), \(index)")
            }
        }
    }

    /// Weights that repeat are copied.
    @Test(
        arguments: [
            (600, 0, 600, 320), (4032, 0, 4032, 1024), (320, 0, 320, 640), (1920, 0, 1920, 320), (1007, 0, 1007, 320),
            (600, 60, 400, 100), (600, -20, 640, 320), (600, 0.5, 400, 100), (9, 0, 9, 6), (5, 0, 5, 40),
        ] as [(Int, Double, Double, Int)])
    func eachWeightIsThatOfItsDistance(input: Int, start: Double, length: Double, output: Int) throws {
        for kernel in [ResamplingKernel.lanczos3, .triangle] {
            let weights = ResamplingWeights(
                from: input, region: (start, length), to: output, kernel: kernel, maximumPrecision: 22)
            let widening = max(1, length / Double(output))
            for index in 0..<output {
                let center = min(max(start + (Double(index) + 0.5) * length / Double(output), 0), Double(input))
                let first = Int(weights.first[index])
                let exact = (0..<weights.stride).map { offset -> Double in
                    guard first + offset < input else { return 0 }
                    return kernel.weight(at: (Double(first + offset) + 0.5 - center) / widening)
                }
                let sum = exact.reduce(0, +)
                for (offset, weight) in exact.enumerated() {
                    let steps = Double(weights.weights[index * weights.stride + offset])
                    // Each rounds to half a step, and carries over what the one before was rounded by.
                    #expect(
                        abs(steps - weight / sum * Double(1 << weights.precision)) < 1.001,
                        "\(kernel), \(input) to \(output): pixel \(index), weight \(offset)")
                }
            }
        }
    }

    @Test func returnsPixelsOfTheRightSizeUntouched() throws {
        let buffer = try noise(20, 10).buffer()
        #expect(try buffer.resampled(to: buffer.size) === buffer)
    }

    /// A band is a sixteenth of a megapixel of the larger image; the last check is at the end.
    @Test func stopsBetweenRowsWhenCancelled() throws {
        let buffer = try MutablePixelBuffer(width: 512, height: 511).freeze(isOpaque: true)
        func resample(_ checkpoints: Checkpoints) throws {
            _ = try buffer.resampled(to: PixelSize(width: 8, height: 8), cancellation: checkpoints.cancellation)
        }
        func turn(_ checkpoints: Checkpoints) throws {
            _ = try buffer.upright(from: .left, cancellation: checkpoints.cancellation)
        }
        try Checkpoints.expectCancellationAtEach(atLeast: 4, of: resample)
        try Checkpoints.expectCancellationAtEach(atLeast: 4, of: turn)
    }

    /// On several threads: the work is that of 300,000 pixels.
    @Test func givesTheSameBytesInBandsAsRowByRow() throws {
        let source = try noise(700, 600)
        let size = PixelSize(width: 301, height: 222)
        let resampler = try RowResampler(from: source.size, to: size)
        source.bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            for row in 0..<600 { resampler.append(start + row * 700 * 4) }
        }
        let expected = Pixels(resampler.finish(isOpaque: false))
        #expect(Pixels(try source.buffer().resampled(to: size)) == expected)
    }

    @Test(arguments: [(10.5, 3.25, 40.0, 30.5), (-2.5, -1, 20, 20), (80, 40, 30, 30), (0, 0, 96, 61)])
    func readsARegionBetweenPixels(x: Double, y: Double, width: Double, height: Double) throws {
        let source = try noise(96, 61)
        let size = PixelSize(width: 23, height: 17)
        let region = PixelRegion(x: x, y: y, width: width, height: height)
        let result = Pixels(try source.buffer().resampled(to: size, region: region))
        let difference = try #require(result.difference(from: exactlyResampled(source, to: size, region: region)))
        #expect(difference <= 1)
    }

    @Test func copiesWholePixelsWithoutAFilter() throws {
        let source = try noise(96, 61)
        let buffer = try source.buffer()
        let region = PixelRegion(x: 5, y: 2, width: 80, height: 50)
        let part = try buffer.resampled(to: PixelSize(width: 80, height: 50), region: region)
        #expect(buffer.baseAddress.distance(to: part.baseAddress) == (2 * 96 + 5) * 4)
        #expect(part[79, 49] == buffer[84, 51])
    }

    @Test func picksTheNearestPixel() throws {
        let source = try noise(10, 7).buffer()
        let result = try source.resampled(to: PixelSize(width: 25, height: 4), filter: .nearest)
        for y in 0..<4 {
            for x in 0..<25 {
                let (row, column) = (Int((Double(y) + 0.5) * 7 / 4), Int((Double(x) + 0.5) * 10 / 25))
                #expect(result[x, y] == source[column, row])
            }
        }
    }

    /// A checkerboard of pixels must become gray at every size; point samples would show rings.
    @Test(arguments: [(100, 75), (40, 31), (7, 5), (200, 150), (1, 1)])
    func shrinksQuicklyWithoutAliasing(width: Int, height: Int) throws {
        let bytes = (0..<403 * 301).flatMap { index -> [UInt8] in
            (index % 403 + index / 403) % 2 == 0 ? [255, 255, 255, 255] : [0, 0, 0, 255]
        }
        let source = Pixels(size: PixelSize(width: 403, height: 301), bytes: bytes)
        let result = Pixels(
            try source.buffer(isOpaque: true).resampled(
                to: PixelSize(width: width, height: height), filter: .fast))
        for index in stride(from: 0, to: result.bytes.count, by: 4) {
            #expect((100...155).contains(result.bytes[index]), "\(index / 4)")
            #expect(result.bytes[index + 3] == 255)
        }
    }

    @Test func shrinksQuicklyWithNearlyTheResultOfLanczos() throws {
        var bytes: [UInt8] = []
        for y in 0..<300 {
            for x in 0..<400 {
                let wave = 127.5 + 80 * sin(Double(x) / 30) + 40 * cos(Double(y) / 17)
                bytes += [UInt8(wave), UInt8(x * 255 / 400), UInt8(y * 255 / 300), 255]
            }
        }
        let source = try Pixels(size: PixelSize(width: 400, height: 300), bytes: bytes).buffer(isOpaque: true)
        for size in [PixelSize(width: 47, height: 35), PixelSize(width: 390, height: 20)] {
            let quick = Pixels(try source.resampled(to: size, filter: .fast))
            let psnr = try #require(quick.psnr(against: Pixels(try source.resampled(to: size))))
            #expect(psnr > 38)
        }
    }

    /// Lanczos-3 with doubles, rows first, without rounding in between.
    private func exactlyResampled(_ source: Pixels, to size: PixelSize, region: PixelRegion? = nil) -> Pixels {
        guard size != source.size else { return source }
        let region = region ?? PixelRegion(source.size)
        let (width, height) = (source.size.width, source.size.height)
        let rows = filter(from: height, start: region.y, length: region.height, to: size.height)
        let columns = filter(from: width, start: region.x, length: region.width, to: size.width)
        var bytes: [UInt8] = []
        for row in rows {
            let line = (0..<width * 4).map { column in
                row.reduce(0.0) { $0 + $1.weight * Double(source.bytes[$1.index * width * 4 + column]) }
            }
            for column in columns {
                let sums = (0..<4).map { channel in
                    column.reduce(0.0) { $0 + $1.weight * line[$1.index * 4 + channel] }
                }
                let alpha = min(max(sums[3].rounded(), 0), 255)
                bytes += sums.prefix(3).map { UInt8(min(max($0.rounded(), 0), alpha)) } + [UInt8(alpha)]
            }
        }
        return Pixels(size: size, bytes: bytes)
    }

    private func filter(
        from input: Int, start: Double, length: Double, to output: Int
    ) -> [[(index: Int, weight: Double)]] {
        let scale = length / Double(output)
        let widening = max(1, scale)
        return (0..<output).map { position in
            let center = min(max(start + (Double(position) + 0.5) * scale, 0), Double(input))
            let weights = (0..<input).map { index in
                let x = (Double(index) + 0.5 - center) / widening
                let value = x == 0 ? 1 : abs(x) >= 3 ? 0 : 3 * sin(.pi * x) * sin(.pi * x / 3) / (.pi * .pi * x * x)
                return (index: index, weight: value)
            }
            let sum = weights.reduce(0) { $0 + $1.weight }
            return weights.map { ($0.index, $0.weight / sum) }
        }
    }
}
