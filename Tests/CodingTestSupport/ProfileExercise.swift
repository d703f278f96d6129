package import FoundationEssentials
import WebImageCoding
import WebImageCore

/// Decodes images with one color profile, whatever it contains: it may only change colors.
///
/// Fuzzing uses it too.
package struct ProfileExercise {
    /// Gray, color and CMYK JPEGs without a profile. Not `Data`, whose pointers a leak detector does not see.
    package let images: [[UInt8]]

    package init(images: [[UInt8]]) { self.images = images }

    /// Returns the problems found.
    package func faults(of profile: Data) -> [String] {
        images.flatMap { file in
            do {
                return try faults(of: profile, in: Data(file))
            } catch {
                // Color profiles never prevent decoding.
                return ["a profile makes an image fail: \(error)"]
            }
        }
    }

    private func faults(of profile: Data, in file: Data) throws(WebImageError) -> [String] {
        let decoder = CodecRegistry.builtIn
        let data = Self.file(file, with: profile)
        let name = try decoder.info(of: data).colorProfileName
        let plain = try decoder.decode(file, options: DecodingOptions())
        let first = try decoder.decode(data, options: DecodingOptions())
        // The second time the transform is cached.
        let second = try decoder.decode(data, options: DecodingOptions())
        var faults: [String] = []
        if name?.isEmpty == true { faults.append("a name without a letter") }
        if first.pixels.size != plain.pixels.size || first.isPartial { faults.append("pixels are missing") }
        if !first.pixels.isOpaque || Self.hasClearPixel(first.pixels) { faults.append("a pixel is not opaque") }
        let areEqual = first.pixels.withUnsafeBytes { first in
            second.pixels.withUnsafeBytes { first.isEqual(to: $0) }
        }
        if !areEqual { faults.append("other colors the second time") }
        return faults
    }

    private static func hasClearPixel(_ pixels: PixelBuffer) -> Bool {
        pixels.withUnsafeBytes { bytes in
            let all = bytes.assumingMemoryBound(to: UInt32.self)
            var (index, common) = (0, UInt32.max)
            while index < all.count {
                common &= all[index]
                index += 1
            }
            return UInt32(littleEndian: common) >> 24 != 255
        }
    }

    /// After the first marker, in as many pieces as needed (ICC.1:2022, B.4).
    private static func file(_ file: Data, with profile: Data) -> Data {
        let pieceLimit = 65_000
        let count = max(1, (profile.count + pieceLimit - 1) / pieceLimit)
        var segments = Data()
        for index in 0..<min(count, 255) {
            let piece = profile.dropFirst(index * pieceLimit).prefix(pieceLimit)
            let length = 2 + 14 + piece.count
            segments += [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 0xFF)] + Array("ICC_PROFILE\0".utf8)
            segments += [UInt8(index + 1), UInt8(min(count, 255))]
            segments += piece
        }
        return file.prefix(2) + segments + file.dropFirst(2)
    }
}
