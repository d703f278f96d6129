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

    package static func == (one: Pixels, other: Pixels) -> Bool {
        guard one.size == other.size else { return false }
        return one.bytes.withUnsafeBytes { one in other.bytes.withUnsafeBytes { one.isEqual(to: $0) } }
    }

    /// The largest difference of two bytes; `nil` for different sizes.
    package func difference(from other: Pixels) -> Int? {
        differences(from: other).map { counts in counts.lastIndex { $0 > 0 } ?? 0 }
    }

    /// Peak signal to noise ratio in decibels; above 40 differences are invisible. `nil` for different sizes.
    package func psnr(against other: Pixels) -> Double? {
        guard let counts = differences(from: other) else { return nil }
        let squares = counts.enumerated().reduce(0) { $0 + $1.offset * $1.offset * $1.element }
        return squares == 0 ? .infinity : 10 * log10(255 * 255 * Double(bytes.count) / Double(squares))
    }

    /// The number of bytes that differ by 0, by 1, and so on up to 255; `nil` for different sizes.
    private func differences(from other: Pixels) -> [Int]? {
        guard size == other.size, bytes.count == other.bytes.count else { return nil }
        var counts = [Int](repeating: 0, count: 256)
        guard self != other else {
            counts[0] = bytes.count
            return counts
        }
        counts.withUnsafeMutableBufferPointer { counts in
            bytes.withUnsafeBufferPointer { bytes in
                other.bytes.withUnsafeBufferPointer { others in
                    var index = 0
                    while index < bytes.count {
                        counts[abs(Int(bytes[index]) - Int(others[index]))] += 1
                        index += 1
                    }
                }
            }
        }
        return counts
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
        let firstOther = bytes.withUnsafeBytes { bytes in
            whole.bytes.withUnsafeBytes { bytes.firstRow(unlike: $0, byteCount: length) }
        }
        let count = firstOther ?? size.height
        let rest = Array(bytes[(count * length)...])
        let isClear = rest.withUnsafeBytes { rest in
            [UInt8](repeating: 0, count: rest.count).withUnsafeBytes { rest.isEqual(to: $0) }
        }
        return isClear ? count : nil
    }
}

extension UnsafeRawBufferPointer {
    /// Whether both have the same bytes, compared with `memcmp`: in a debug build, Swift makes a call for each byte.
    package func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart, count) == 0
    }

    /// The first row of `byteCount` bytes in which two images of the same size differ.
    package func firstRow(unlike other: UnsafeRawBufferPointer, byteCount: Int) -> Int? {
        guard !isEqual(to: other) else { return nil }
        return (0..<count / byteCount).first { row in
            let range = row * byteCount..<(row + 1) * byteCount
            let (bytes, others) = (self[range], other[range])
            return !UnsafeRawBufferPointer(rebasing: bytes).isEqual(to: UnsafeRawBufferPointer(rebasing: others))
        }
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
