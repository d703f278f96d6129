import CWebImageBenchmarkPeers
import Foundation
import WebImageCoding
import WebImageCore

/// One photograph in one format.
struct CodingSample {
    let name: String
    let data: Data
    /// Has the bare library make RGBA with straight alpha of it, in memory that there is already. False if that is too
    /// little.
    let decodeBare: (_ pixels: UnsafeMutablePointer<UInt8>, _ byteCount: Int) -> Bool
    let bareName: String

    /// The photograph in every format that can be decoded. A GIF needs giflib to be made, and its image is a drawing
    /// with noise.
    static func all(_ pixels: PixelBuffer, _ title: String) throws -> [CodingSample] {
        let photo = Image(pixels: pixels)
        func encoded(as format: ImageFormat) throws -> Data {
            try CodecRegistry.shared.encode(photo, as: format, options: EncodingOptions(quality: 0.6))
        }
        var samples = try [
            CodingSample("JPEG, \(title)", encoded(as: .jpeg), "libjpeg-turbo", peer_decode_jpeg),
            CodingSample("JPEG, \(title), progressive", progressiveJPEG(pixels), "libjpeg-turbo", peer_decode_jpeg),
            CodingSample("PNG, \(title)", encoded(as: .png), "libpng", peer_decode_png),
            CodingSample("WebP, \(title)", encoded(as: .webp), "libwebp", peer_decode_webp),
        ]
        samples.append(try CodingSample(gif(pixels.size), "GIF, \(title)"))
        return samples
    }

    init(
        _ name: String, _ data: Data, _ bareName: String,
        _ decode: @escaping (UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<UInt8>?, Int) -> Bool
    ) {
        self.name = name
        self.data = data
        self.bareName = bareName
        decodeBare = { pixels, byteCount in
            data.withUnsafeBytes { bytes in
                decode(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, pixels, byteCount)
            }
        }
    }

    private init(_ data: Data, _ name: String) {
        self.init(name, data, "giflib") { data, count, pixels, byteCount in
            peer_decode_gif(data, count, pixels, byteCount, nil)
        }
    }

    private static func gif(_ size: PixelSize) throws -> Data {
        var length = 0
        guard let bytes = peer_make_gif(Int32(size.width), Int32(size.height), 1, true, &length) else {
            throw WrongResult(description: "giflib made no GIF")
        }
        return Data(bytesNoCopy: bytes, count: length, deallocator: .free)
    }

    private static func progressiveJPEG(_ pixels: PixelBuffer) throws -> Data {
        var file = [UInt8](repeating: 0, count: pixels.byteCount)
        let count = pixels.withUnsafeBytes { bytes in
            peer_encode_progressive_jpeg(
                bytes.bindMemory(to: UInt8.self).baseAddress, UInt32(pixels.width), UInt32(pixels.height), 60, &file,
                file.count)
        }
        guard count > 0 else { throw WrongResult(description: "libjpeg-turbo made no progressive JPEG") }
        return Data(file.prefix(count))
    }
}

extension BenchmarkGroup {
    /// Decoded whole, beside the bare library, which writes into memory that it has already; and to a thumbnail, beside
    /// the library's whole image, which has to be made smaller yet.
    static func compareWithBareLibrary(_ sample: CodingSample, in table: BenchmarkTable) throws {
        let image = try CodecRegistry.shared.decode(sample.data)
        var reused = [UInt8](repeating: 0, count: image.pixels.byteCount)
        func bare() throws {
            guard sample.decodeBare(&reused, reused.count) else { throw WrongResult(description: "another size") }
        }
        try bare()
        guard image.pixels.withUnsafeBytes({ $0.elementsEqual(reused) }) else {
            throw WrongResult(description: "\(sample.name): our pixels are not \(sample.bareName)'s")
        }
        try table.compare("\(sample.name), against \(sample.bareName)", roundCount: 9) {
            _ = try CodecRegistry.shared.decode(sample.data)
        } yardstick: {
            try bare()
        }
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 200, height: 200)))
        try table.compare("\(sample.name) to 200 px, against \(sample.bareName), whole", roundCount: 7) {
            let thumbnail = try CodecRegistry.shared.decode(sample.data, options: options)
            guard thumbnail.width == 200 else { throw WrongResult(description: "\(thumbnail.width) pixels wide") }
        } yardstick: {
            try bare()
        }
    }

    /// Arriving in pieces of 16 KiB, without previews, beside all at once.
    static func comparePieces(_ sample: CodingSample, in table: BenchmarkTable) throws {
        let (registry, data, pieceByteCount) = (CodecRegistry.shared, sample.data, 16_384)
        func inPieces() throws -> Image {
            guard let decoder = try registry.makeIncrementalDecoder(startingWith: data.prefix(pieceByteCount)) else {
                throw WrongResult(description: "no incremental decoder")
            }
            for start in stride(from: pieceByteCount, to: data.count, by: pieceByteCount) {
                try decoder.append(data[start..<min(start + pieceByteCount, data.count)])
            }
            return try decoder.finish()
        }
        let (whole, arrived) = (try registry.decode(data).pixels, try inPieces().pixels)
        guard arrived.withUnsafeBytes({ arrived in whole.withUnsafeBytes { $0.elementsEqual(arrived) } }) else {
            throw WrongResult(description: "\(sample.name): pieces make another picture")
        }
        try table.compare("\(sample.name), in pieces, against whole", roundCount: 7) {
            _ = try inPieces()
        } yardstick: {
            _ = try registry.decode(data)
        }
    }
}
