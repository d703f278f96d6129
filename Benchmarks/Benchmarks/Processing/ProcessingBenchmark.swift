import Foundation
import WebImageCoding
import WebImageCore
import WebImageProcessing

extension BenchmarkGroup {
    /// What processors do to 12 and 2 megapixels, beside Pillow, OpenCV and libvips. Results are compared before times
    /// count.
    static let processing = BenchmarkGroup(name: "effects-processing") { table in
        let large = try CodecRegistry.shared.decode(try twelveMegapixelJPEG()).pixels
        let small = try large.resampled(to: PixelSize(width: 1632, height: 1224))
        for (width, height) in [(1024, 768), (200, 150)] {
            try ProcessingBenchmark(
                name: "resize, 12 MP to \(width)", pixels: large, budget: .milliseconds(15), likeness: 30,
                operation: .resize(width: width, height: height)
            ) { try $0.pixels.resampled(to: PixelSize(width: width, height: height)) }.run(in: table)
        }
        for (radius, standardDeviation) in [(32.0, 15.5), (8, 3.46)] {
            try ProcessingBenchmark(
                name: "blur, 2 MP, radius \(Int(radius))", pixels: small, budget: .milliseconds(10), likeness: 40,
                operation: .blur(standardDeviation: standardDeviation)
            ) { try $0.processed(by: [.blur(radius: radius)]).pixels }.run(in: table)
        }
        for benchmark in try simpleOperations(small) { try benchmark.run(in: table) }
    }

    private static func simpleOperations(_ pixels: PixelBuffer) throws -> [ProcessingBenchmark] {
        let mirrored = try pixels.upright(from: .upMirrored)
        let other = Image(pixels: mirrored)
        return [
            ProcessingBenchmark(name: "grayscale, 2 MP", pixels: pixels, likeness: 35, operation: .grayscale) {
                try $0.processed(by: [.grayscale()]).pixels
            },
            ProcessingBenchmark(name: "sepia matrix, 2 MP", pixels: pixels, likeness: 45, operation: .sepia) {
                try $0.processed(by: [.sepia()]).pixels
            },
            ProcessingBenchmark(name: "tint, multiplied, 2 MP", pixels: pixels, likeness: 45, operation: .tint) {
                try $0.processed(by: [.tint(Color(red: 1, green: 0.6, blue: 0.2), mode: .multiply)]).pixels
            },
            ProcessingBenchmark(name: "two at half opacity, 2 MP", pixels: pixels, likeness: 45, operation: .blend) {
                try $0.processed(by: [.blend(other, opacity: 0.5)]).pixels
            },
            ProcessingBenchmark(name: "two, screen, 2 MP", pixels: pixels, likeness: 45, operation: .screen) {
                try $0.processed(by: [.blend(other, mode: .screen)]).pixels
            },
            ProcessingBenchmark(name: "average color, 2 MP", pixels: pixels, likeness: 40, operation: .average) {
                let color = $0.averageColor
                var pixel = try MutablePixelBuffer(width: 1, height: 1)
                pixel.withUnsafeMutableBytes { bytes in
                    bytes.copyBytes(from: [color.red, color.green, color.blue, 1].map { UInt8(($0 * 255).rounded()) })
                }
                return pixel.freeze(isOpaque: true)
            },
        ]
    }
}

/// Something done to an opaque image, by us and by others.
struct ProcessingBenchmark {
    let name: String
    let pixels: PixelBuffer
    var budget: Duration?
    /// The least peak signal to noise ratio, in decibels, between our result and another program's.
    let likeness: Double
    let operation: ProcessingPeer.Operation
    let ours: (Image) throws -> PixelBuffer

    func run(in table: BenchmarkTable) throws {
        let image = Image(pixels: pixels)
        let result = try ours(image)
        let roundCount = getenv("QUICK") == nil ? 15 : 3
        if let budget {
            try table.compare(name, budget: budget, roundCount: roundCount) { _ = try ours(image) }
        }
        for peer in ProcessingPeer.all {
            switch try peer.measure(operation, on: pixels, roundCount: roundCount) {
            case .missing: print("\(name), against \(peer.name): not here; it is in \(peer.package)")
            case .unable: continue
            case .measured(let seconds, let rgb):
                let found = try ratio(of: result, to: rgb)
                guard found >= likeness else {
                    throw WrongResult(description: "\(name): \(found) dB between ours and \(peer.name)'s")
                }
                try table.compare("\(name), against \(peer.name)", yardstick: .seconds(seconds), roundCount: roundCount)
                {
                    _ = try ours(image)
                }
            }
        }
    }

    private func ratio(of result: PixelBuffer, to rgb: Data) throws -> Double {
        guard rgb.count == result.size.pixelCount * 3 else {
            throw WrongResult(description: "\(name): \(rgb.count) bytes for \(result.size)")
        }
        var squares = 0
        for y in 0..<result.height {
            for x in 0..<result.width {
                let (pixel, place) = (result[x, y], rgb.startIndex + (y * result.width + x) * 3)
                for channel in 0..<3 {
                    let difference = Int(pixel[channel]) - Int(rgb[place + channel])
                    squares += difference * difference
                }
            }
        }
        return squares == 0 ? .infinity : 10 * log10(255 * 255 * Double(rgb.count) / Double(squares))
    }
}
