import FoundationEssentials
import Glibc
import WebImageCoding
import WebImageCore

extension BenchmarkGroup {
    /// Decoding, beside the C libraries alone and other programs. QUICK=1 leaves out 12 megapixels but for JPEG.
    static let coding = BenchmarkGroup(name: "coding") { table in
        let photo = try twelveMegapixelJPEG()
        for (side, milliseconds) in [(1024, 35), (200, 22)] {
            let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: side, height: side)))
            try table.compare("JPEG, 12 MP to \(side) px", budget: .milliseconds(milliseconds)) {
                let image = try CodecRegistry.shared.decode(photo, options: options)
                guard image.width == side else { throw WrongResult(description: "\(image.width) pixels wide") }
            }
        }
        let large = try CodecRegistry.shared.decode(photo).pixels
        let small = try large.resampled(to: PixelSize(width: 1632, height: 1224))
        let isQuick = getenv("QUICK") != nil
        for (pixels, title) in [(small, "2 MP")] + (isQuick ? [] : [(large, "12 MP")]) {
            let samples = try CodingSample.all(pixels, title)
            for sample in samples {
                try compareWithBareLibrary(sample, in: table)
                try comparePieces(sample, in: table)
            }
            try compareWithOtherPrograms(samples, in: table)
            try comparePNGWithAlpha(of: pixels, title, in: table)
            #if WEBIMAGE_FORMATS
                try compareFormats(pixels, title, in: table)
            #endif
        }
        #if WEBIMAGE_FORMATS
            try compareDrawing(in: table)
        #endif
        try comparePNGEncoding("PNG, 2 MP RGB, encoded, against libpng", small, in: table)
    }

    /// A photograph of Debian's mate-backgrounds where they are installed, else a drawing with noise, with 12
    /// megapixels in about 2 MB, like the photograph for which the budgets were set.
    static func twelveMegapixelJPEG() throws -> Data {
        let size = PixelSize(width: 4032, height: 3024)
        let path = "/usr/share/backgrounds/mate/abstract/Elephants_5640x3172.jpg"
        let picture: PixelBuffer
        if let data = try? Data(contentsOf: URL(filePath: path)) {
            picture = try CodecRegistry.shared.decode(data).pixels.resampled(to: size)
        } else {
            picture = try drawing(size)
        }
        return try CodecRegistry.shared.encode(
            Image(pixels: picture), as: .jpeg, options: EncodingOptions(quality: 0.6))
    }

    /// Slow changes, hard edges and some grain.
    static func drawing(_ size: PixelSize) throws -> PixelBuffer {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        var generator = SystemRandomNumberGenerator()
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let grain = UInt8.random(in: 0..<24, using: &generator)
                    let offset = (y * size.width + x) * 4
                    bytes[offset] = UInt8(x * 200 / size.width) + grain
                    bytes[offset + 1] = UInt8(y * 200 / size.height) + grain
                    bytes[offset + 2] = UInt8((x / 64 + y / 64) % 2 * 100) + grain
                    bytes[offset + 3] = 255
                }
            }
        }
        return pixels.freeze(isOpaque: true)
    }
}
