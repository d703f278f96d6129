package import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// The gain maps that iPhones wrote before ISO 21496-1: a gain is a share of the largest, which is given by XMP, or by the maker's notes in
/// EXIF.
package enum AppleGainMap {
    /// The property that all have.
    static let version: StaticString = "HDRGainMap:HDRGainMapVersion"

    /// - Parameters:
    ///   - xmp: of the map; `nil` without.
    ///   - exif: of the image: a TIFF structure.
    package static func metadata(xmp: Data?, exif: Data?) -> GainMapMetadata? {
        metadata(XMPPacket(Array(xmp ?? Data())), exif: exif)
    }

    static func metadata(_ packet: XMPPacket, exif: Data?) -> GainMapMetadata? {
        guard !packet.values(of: "HDRGainMapVersion", in: .appleGainMap).isEmpty else { return nil }
        let text = packet.values(of: "HDRGainMapHeadroom", in: .appleGainMap).first
        guard let headroom = text.flatMap({ Double($0) }) ?? exif.flatMap({ headroom(exif: $0.bytes) }),
            headroom > 1.001,
            let stops = Fraction(log2(headroom)), let zero = Fraction(0, 1), let one = Fraction(1, 1)
        else { return nil }
        let channel = GainMapMetadata.Channel(
            minimum: zero, maximum: stops, gamma: one, baseOffset: zero, alternateOffset: zero)
        return GainMapMetadata(
            baseHeadroom: zero, alternateHeadroom: stops, channels: [channel], usesBaseColors: true)
    }

    /// Computes the largest gain from two numbers in the maker's notes, as Apple documents it.
    private static func headroom(exif: RawSpan) -> Double? {
        guard let layout = TIFFLayout(exif),
            let details = layout.entry(TIFFTag.exif, inDirectoryAt: layout.firstDirectory, of: exif)
                .flatMap({ layout.target(of: $0, in: exif) }),
            let notes = layout.entry(0x927C, inDirectoryAt: details, of: exif)
        else { return nil }
        // A signature, a version, the order of bytes, and a directory whose offsets count from the signature.
        let bytes = exif.extracting(notes.value)
        guard bytes.hasText("Apple iOS\0", at: 0), bytes.hasText("MM", at: 12),
            let count = bytes.integer(at: 14, count: 2, isBigEndian: true)
        else { return nil }
        func number(_ tag: Int) -> Double? {
            for entry in (0..<min(count, 512)).lazy.map({ 16 + $0 * 12 })
            where bytes.integer(at: entry, count: 2, isBigEndian: true) == tag {
                guard bytes.integer(at: entry + 2, count: 2, isBigEndian: true) == 10,
                    let offset = bytes.integer(at: entry + 8, count: 4, isBigEndian: true),
                    let numerator = bytes.integer(at: offset, count: 4, isBigEndian: true),
                    let denominator = bytes.integer(at: offset + 4, count: 4, isBigEndian: true), denominator > 0
                else { return nil }
                return Double(Int32(truncatingIfNeeded: numerator)) / Double(denominator)
            }
            return nil
        }
        guard let first = number(0x21), let second = number(0x30) else { return nil }
        let stops =
            switch (first < 1, second <= 0.01) {
            case (true, true): -20 * second + 1.8
            case (true, false): -0.101 * second + 1.601
            case (false, true): -70 * second + 3
            case (false, false): -0.303 * second + 2.303
            }
        return exp2(max(stops, 0))
    }
}
