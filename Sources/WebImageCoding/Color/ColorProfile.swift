/// An ICC profile (ICC.1:2022) as it is embedded in a picture: its header, and where its tags are.
///
///     0        128   132                     …
///     │ header │ n │ n × (name, offset, size) │ tags, in any order; several names may share one │
///
/// Only the kinds that describe a picture's pixels are read: input, display, output and colour space profiles, from grey,
/// RGB or CMYK to XYZ or Lab. Every tag lies inside the bytes. What the tags hold is looked at where they are used.
package struct ColorProfile: Sendable, Hashable {
    /// As long as the profile says it is.
    let bytes: [UInt8]
    /// Of the pixels it is for.
    let model: ColorModel
    /// Of the colours it turns them into.
    let connectionSpace: ConnectionSpace
    private let tags: [Int: Range<Int>]
    private let tagCount: Int
    /// Of all bytes, taken once: the cache of transforms looks profiles up inside its lock.
    private let digest: Int

    /// Where profiles meet: colours as an eye sees them, under the light of ICC's D50.
    enum ConnectionSpace: Sendable {
        case xyz
        case lab
    }

    /// The longest profile that is read, 4 MiB; the largest in use, for printing presses, have about 3.
    static let byteLimit = 4 << 20

    /// `nil` for bytes that are no profile, or a damaged one, or one of another kind. A picture with such a profile is
    /// shown as if it had none.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.byteLimit else { return nil }
        let data = bytes.span.bytes
        guard let length = data.integer(at: 0, count: 4, isBigEndian: true), length <= bytes.count,
            data.hasText("acsp", at: 36), Self.classes.contains(where: { data.hasText($0, at: 12) }),
            let model = Self.models.first(where: { data.hasText($0.name, at: 16) })?.model,
            let space = Self.connectionSpaces.first(where: { data.hasText($0.name, at: 20) })?.space,
            let tagCount = data.integer(at: Self.headerLength, count: 4, isBigEndian: true), tagCount <= Self.tagLimit
        else { return nil }
        var tags: [Int: Range<Int>] = [:]
        for entry in Self.entries(count: tagCount) {
            guard let name = data.integer(at: entry, count: 4, isBigEndian: true),
                let offset = data.integer(at: entry + 4, count: 4, isBigEndian: true),
                let size = data.integer(at: entry + 8, count: 4, isBigEndian: true), offset + size <= length
            else { return nil }
            // Of several by one name lcms2 takes the first as well.
            if tags[name] == nil { tags[name] = offset..<offset + size }
        }
        self.bytes = length == bytes.count ? bytes : Array(bytes[..<length])
        var hasher = Hasher()
        // In one piece: an array would hash half a megabyte byte by byte.
        self.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        digest = hasher.finalize()
        self.model = model
        self.connectionSpace = space
        self.tags = tags
        self.tagCount = tagCount
    }

    /// Where the table of tags names each of them.
    var tagEntries: some Sequence<Int> { Self.entries(count: tagCount) }

    private static func entries(count: Int) -> StrideTo<Int> {
        let first = headerLength + 4
        return stride(from: first, to: first + count * 12, by: 12)
    }

    func hasTag(_ name: TagName) -> Bool { tags[name.rawValue] != nil }

    /// Calls `body` with the bytes of a tag; `nil` if there is none.
    func withTag<Result>(_ name: TagName, _ body: (RawSpan) -> Result?) -> Result? {
        guard let range = tags[name.rawValue] else { return nil }
        return body(bytes.span.bytes.extracting(range))
    }

    /// Compares the bytes; all else follows from them.
    package static func == (first: ColorProfile, second: ColorProfile) -> Bool { first.bytes == second.bytes }

    /// Hashes what stands for the bytes.
    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    /// Names of tags as big-endian numbers.
    enum TagName: Int {
        case redColorant = 0x7258_595A  // rXYZ
        case greenColorant = 0x6758_595A  // gXYZ
        case blueColorant = 0x6258_595A  // bXYZ
        case redCurve = 0x7254_5243  // rTRC
        case greenCurve = 0x6754_5243  // gTRC
        case blueCurve = 0x6254_5243  // bTRC
        case grayCurve = 0x6B54_5243  // kTRC
        /// A table of colours for the perceptual intent.
        case perceptualTable = 0x4132_4230  // A2B0
        case description = 0x6465_7363  // desc
    }

    private static let headerLength = 128
    /// lcms2 reads no more either.
    private static let tagLimit = 100
    private static let classes: [StaticString] = ["scnr", "mntr", "prtr", "spac"]
    private static let models: [(name: StaticString, model: ColorModel)] = [
        ("RGB ", .rgb), ("GRAY", .gray), ("CMYK", .cmyk),
    ]
    private static let connectionSpaces: [(name: StaticString, space: ConnectionSpace)] = [
        ("XYZ ", .xyz), ("Lab ", .lab),
    ]
}
