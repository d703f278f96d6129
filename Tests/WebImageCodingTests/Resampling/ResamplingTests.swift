import CWebImageKernels
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// The Lanczos resampler against the definition of the filter.
@Suite struct ResamplingTests {
    private func noise(_ width: Int, _ height: Int, isOpaque: Bool = false) throws -> Pixels {
        var generator = SplitMix64(seed: 9)
        var bytes = (0..<width * height * 4).map { _ in UInt8.random(in: 0...255, using: &generator) }
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

    @Test func returnsPixelsOfTheRightSizeUntouched() throws {
        let buffer = try noise(20, 10).buffer()
        #expect(try buffer.resampled(to: buffer.size) === buffer)
    }

    /// A batch is a quarter megapixel, of the input where that is larger.
    @Test func stopsInTheMiddleOfTheRowsWhenCancelled() throws {
        let buffer = try MutablePixelBuffer(width: 1024, height: 1024).freeze(isOpaque: true)
        func count(cancellingAt number: Int?, _ body: (Cancellation) throws -> Void) -> Int {
            let checkpoints = Checkpoints(cancellingAt: number)
            if number == nil {
                #expect(throws: Never.self) { try body(checkpoints.cancellation) }
            } else {
                #expect(throws: WebImageError.cancelled) { try body(checkpoints.cancellation) }
            }
            return checkpoints.count
        }
        func resample(_ cancellation: Cancellation) throws {
            _ = try buffer.resampled(to: PixelSize(width: 8, height: 8), cancellation: cancellation)
        }
        func turn(_ cancellation: Cancellation) throws {
            _ = try buffer.upright(from: .left, cancellation: cancellation)
        }
        for body in [resample, turn] {
            #expect(count(cancellingAt: nil, body) == 4)
            for number in 1...4 { #expect(count(cancellingAt: number, body) == number) }
        }
    }

    /// Lanczos-3 in doubles, rows first, without rounding in between.
    private func exactlyResampled(_ source: Pixels, to size: PixelSize) -> Pixels {
        guard size != source.size else { return source }
        let (width, height) = (source.size.width, source.size.height)
        let rows = filter(from: height, to: size.height)
        let columns = filter(from: width, to: size.width)
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

    private func filter(from input: Int, to output: Int) -> [[(index: Int, weight: Double)]] {
        let scale = Double(input) / Double(output)
        let widening = max(1, scale)
        return (0..<output).map { position in
            let center = (Double(position) + 0.5) * scale
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
