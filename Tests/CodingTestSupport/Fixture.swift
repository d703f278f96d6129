package import Foundation
package import WebImageCoding
package import WebImageCore

/// A committed image and the pixels that another program decodes from it; see Tests/Fixtures/make_fixtures.py.
package struct Fixture: Sendable, CustomStringConvertible {
    package let name: String

    package init(_ name: String) { self.name = name }

    package var description: String { name }

    package func data() throws -> Data { try Data(contentsOf: Self.directory.appending(path: name)) }

    /// The content of `name.rgba`.
    package func reference() throws -> Pixels { try Pixels(named: name + ".rgba") }

    /// All images with an extension that have a reference.
    package static func all(withExtension fileExtension: String) -> [Fixture] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasSuffix("." + fileExtension) && names.contains($0 + ".rgba") }
            .sorted().map(Fixture.init)
    }

    package static let directory = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fixtures/images")
}

/// Premultiplied RGBA without gaps between rows.
package struct Pixels: Equatable {
    package var size: PixelSize
    package var bytes: [UInt8]

    package init(size: PixelSize, bytes: [UInt8]) {
        self.size = size
        self.bytes = bytes
    }

    package init(named name: String) throws {
        let data = [UInt8](try Data(contentsOf: Fixture.directory.appending(path: name)))
        func number(at offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) } }
        self.init(size: PixelSize(width: number(at: 0), height: number(at: 4)), bytes: Array(data[8...]))
    }

    package init(_ buffer: PixelBuffer) {
        self.init(size: buffer.size, bytes: buffer.withUnsafeBytes { Array($0) })
    }

    /// The largest difference of two bytes; `nil` for different sizes.
    package func difference(from other: Pixels) -> Int? {
        guard size == other.size, bytes.count == other.bytes.count else { return nil }
        return zip(bytes, other.bytes).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    /// Peak signal to noise ratio in decibels; above 40 differences are invisible. `nil` for different sizes.
    package func psnr(against other: Pixels) -> Double? {
        guard size == other.size, bytes.count == other.bytes.count else { return nil }
        let squares = zip(bytes, other.bytes).reduce(0.0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
        return squares == 0 ? .infinity : 10 * log10(255 * 255 * Double(bytes.count) / squares)
    }

    package func buffer(isOpaque: Bool = false) throws -> PixelBuffer {
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
        return buffer.freeze(isOpaque: isOpaque)
    }
}

extension Pixels {
    /// The number of rows from the top equal to those of `whole`, if all others are transparent; `nil` otherwise.
    package func goodRowCount(of whole: Pixels) -> Int? {
        guard size == whole.size else { return nil }
        let length = size.width * 4
        func row(_ index: Int, of pixels: Pixels) -> ArraySlice<UInt8> {
            pixels.bytes[index * length..<(index + 1) * length]
        }
        let count = (0..<size.height).first { row($0, of: self) != row($0, of: whole) } ?? size.height
        return (count..<size.height).allSatisfy { row($0, of: self).allSatisfy { $0 == 0 } } ? count : nil
    }
}

extension IncrementalImageDecoder {
    /// Decodes bytes that arrive in pieces of `length`, with a preview after each.
    package func decode(_ data: Data, inPiecesOf length: Int) throws(WebImageError) -> Image {
        for start in stride(from: 0, to: data.count, by: length) {
            try append(data[start..<min(start + length, data.count)])
            _ = try preview()
        }
        return try finish()
    }
}
