import Foundation
import Testing
import WebImageCore

/// What other programs make of hashes and pictures; see Tests/Fixtures/hash_fixtures.py, which also says where each hash was
/// published.
enum HashFixture {
    struct Decoded: Sendable, CustomTestStringConvertible {
        let kind: String
        let text: String
        let size: PixelSize
        let punch: Double
        /// RGBA, not premultiplied.
        let straight: [UInt8]
        var testDescription: String { "\(kind) \(text) \(size) punch \(punch)" }
    }

    struct Encoded: Sendable, CustomTestStringConvertible {
        let size: PixelSize
        let hasAlpha: Bool
        /// By components, such as `4x3`.
        let blurHashes: [String: String]
        let thumbHash: String?
        var testDescription: String { "\(size) \(hasAlpha ? "with" : "without") alpha" }
    }

    static let decoded: [Decoded] = lines(of: "decoded.txt").compactMap { fields in
        guard fields.count == 6, let width = Int(fields[2]), let height = Int(fields[3]), let punch = Double(fields[4]),
            let straight = Data(base64Encoded: fields[5])
        else { return nil }
        return Decoded(
            kind: fields[0], text: fields[1], size: PixelSize(width: width, height: height), punch: punch,
            straight: Array(straight))
    }

    static let encoded: [Encoded] = lines(of: "encoded.txt").compactMap { fields in
        guard let width = Int(fields[0]), let height = Int(fields[1]) else { return nil }
        let hashes = fields.dropFirst(3).map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return Encoded(
            size: PixelSize(width: width, height: height), hasAlpha: fields[2] == "alpha",
            blurHashes: Dictionary(
                uniqueKeysWithValues: hashes.filter { $0[0] != "thumb" }.map { ($0[0], $0[1]) }),
            thumbHash: hashes.first { $0[0] == "thumb" }?[1])
    }

    /// The picture that `picture` in hash_fixtures.py makes.
    static func picture(_ size: PixelSize, hasAlpha: Bool) throws -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let alpha = hasAlpha && (x + y) % 3 != 0 ? x * 160 / size.width + 60 : 255
                    let color = [
                        x * 255 / max(1, size.width - 1), y * 255 / max(1, size.height - 1), (x * 7 + y * 11) % 256,
                    ]
                    let offset = (y * size.width + x) * 4
                    for (channel, value) in color.enumerated() {
                        bytes[offset + channel] = UInt8((value * alpha + 127) / 255)
                    }
                    bytes[offset + 3] = UInt8(alpha)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: !hasAlpha))
    }

    private static func lines(of name: String) -> [[String]] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/hashes")
        let text = (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }
}
