import CWebImageBenchmarkPeers
import FoundationEssentials
import WebImageCoding
import WebImageCore

extension BenchmarkGroup {
    /// PNG with alpha beside libpng. The yardstick leaves alpha straight and writes into memory that it has already: it
    /// does less.
    static func comparePNGWithAlpha(of photo: PixelBuffer, _ title: String, in table: BenchmarkTable) throws {
        let picture = try vignette(photo)
        let data = try CodecRegistry.shared.encode(Image(pixels: picture), as: .png)
        try compare("PNG, \(title) RGBA", data, picture, in: table)
    }

    private static func compare(_ name: String, _ data: Data, _ pixels: PixelBuffer, in table: BenchmarkTable) throws {
        let image = try CodecRegistry.shared.decode(data)
        guard image.pixels.withUnsafeBytes({ ours in pixels.withUnsafeBytes { ours.elementsEqual($0) } }) else {
            throw WrongResult(description: "our pixels are not those that were encoded")
        }
        var reused = [UInt8](repeating: 0, count: pixels.byteCount)
        func compare(
            with peer: String, _ decode: (UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<UInt8>?, Int) -> Bool
        ) throws {
            try table.compare("\(name), against \(peer)", roundCount: 9) {
                _ = try CodecRegistry.shared.decode(data)
            } yardstick: {
                let fits = data.withUnsafeBytes { bytes in
                    decode(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &reused, reused.count)
                }
                guard fits else { throw WrongResult(description: "the yardstick decoded another size") }
            }
        }
        try compare(with: "libpng", peer_decode_png)
        try compare(with: "libspng", peer_decode_png_with_spng)
        try compareIncremental(name, data, in: table)
    }

    /// Beside libpng at the level at which its files are about as long as ours, and an eighth longer at most.
    static func comparePNGEncoding(_ name: String, _ pixels: PixelBuffer, in table: BenchmarkTable) throws {
        let (width, height) = (UInt32(pixels.width), UInt32(pixels.height))
        var file = [UInt8](repeating: 0, count: pixels.byteCount)
        var (ours, yardstick) = (0, 0)
        try table.compare(name, roundCount: 3) {
            ours = try CodecRegistry.shared.encode(Image(pixels: pixels), as: .png).count
        } yardstick: {
            yardstick = pixels.withUnsafeBytes { bytes in
                let start = bytes.bindMemory(to: UInt8.self).baseAddress
                return peer_encode_png(start, width, height, 3, &file, file.count)
            }
        }
        guard ours <= yardstick + yardstick / 8 else {
            throw WrongResult(description: "\(ours) bytes are far more than libpng's \(yardstick)")
        }
    }

    /// In pieces of 16 KB, with a preview at half of it.
    private static func compareIncremental(_ name: String, _ data: Data, in table: BenchmarkTable) throws {
        try table.compare(name + ": in pieces with a preview, against at once", roundCount: 5) {
            guard let decoder = PNGDecoder().makeIncrementalDecoder(options: DecodingOptions()) else { return }
            for start in stride(from: 0, to: data.count, by: 16_384) {
                try decoder.append(data[start..<min(start + 16_384, data.count)])
                if start >= data.count / 2, start < data.count / 2 + 16_384 { _ = try decoder.preview() }
            }
            _ = try decoder.finish()
        } yardstick: {
            _ = try CodecRegistry.shared.decode(data)
        }
    }

    /// Clearer and clearer towards the right.
    private static func vignette(_ pixels: PixelBuffer) throws -> PixelBuffer {
        var copy = try MutablePixelBuffer(width: pixels.width, height: pixels.height)
        let (width, stride) = (pixels.width, pixels.bytesPerRow)
        copy.withUnsafeMutableBytes { output in
            pixels.withUnsafeBytes { input in
                for y in 0..<pixels.height {
                    for x in 0..<width {
                        let alpha = UInt8(255 - x * 200 / width)
                        let offset = y * stride + x * 4
                        for channel in 0..<3 {
                            let value = Int(input[offset + channel]) * Int(alpha)
                            output[offset + channel] = UInt8((value + 127) / 255)
                        }
                        output[offset + 3] = alpha
                    }
                }
            }
        }
        return copy.freeze(isOpaque: false)
    }
}
