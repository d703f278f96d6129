import FoundationEssentials
import WebImageCoding
import WebImageCore

/// Shows a picture with one colour profile, whatever that holds: it may change colours, and nothing else.
///
/// Fuzzing runs it too (Fuzzing/Sources/FuzzSupport links to this file), so it uses nothing but the public face.
struct ProfileExercise {
    /// JPEGs of grey, of light and of ink, without a profile. Not `Data`, in which a search for leaks sees no pointer.
    let pictures: [[UInt8]]

    /// What should not be; empty when all is well.
    func faults(of profile: Data) -> [String] {
        pictures.flatMap { picture in
            do {
                return try faults(of: profile, in: Data(picture))
            } catch {
                // Colour profiles never make a picture fail.
                return ["a profile makes a picture fail: \(error)"]
            }
        }
    }

    private func faults(of profile: Data, in picture: Data) throws(WebImageError) -> [String] {
        let decoder = CodecRegistry.shared
        let data = Self.picture(picture, with: profile)
        let name = try decoder.info(of: data).colorProfileName
        let plain = try decoder.decode(picture, options: DecodingOptions())
        let first = try decoder.decode(data, options: DecodingOptions())
        // The second time the transform is not made anew, but found.
        let second = try decoder.decode(data, options: DecodingOptions())
        var faults: [String] = []
        if name?.isEmpty == true { faults.append("a name without a letter") }
        if first.pixels.size != plain.pixels.size || first.isPartial { faults.append("pixels are missing") }
        if !first.pixels.isOpaque || Self.hasClearPixel(first.pixels) { faults.append("a pixel is not opaque") }
        let areEqual = first.pixels.withUnsafeBytes { first in
            second.pixels.withUnsafeBytes { first.elementsEqual($0) }
        }
        if !areEqual { faults.append("other colours the second time") }
        return faults
    }

    private static func hasClearPixel(_ pixels: PixelBuffer) -> Bool {
        pixels.withUnsafeBytes { bytes in stride(from: 3, to: bytes.count, by: 4).contains { bytes[$0] != 255 } }
    }

    /// Behind the first marker, in as many pieces as it needs (ICC.1:2022, B.4).
    private static func picture(_ picture: Data, with profile: Data) -> Data {
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
        return picture.prefix(2) + segments + picture.dropFirst(2)
    }
}
