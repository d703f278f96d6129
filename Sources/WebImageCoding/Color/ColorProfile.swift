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

extension ColorProfile {
    /// What the profile calls itself, such as `Display P3`; `nil` where it does not, or not in Unicode.
    package var name: String? {
        withTag(.description) { tag in
            if tag.hasText("mluc", at: 0) { return Self.localizedText(in: tag) }
            if tag.hasText("desc", at: 0) { return Self.plainText(in: tag) }
            return nil
        }
    }

    /// `multiLocalizedUnicodeType`: of several languages English, else the first.
    private static func localizedText(in tag: RawSpan) -> String? {
        guard let recordCount = tag.integer(at: 8, count: 4, isBigEndian: true) else { return nil }
        let records = (0..<min(recordCount, 64)).map { 16 + $0 * 12 }
        let english = records.first { tag.hasText("en", at: $0) }
        guard let record = english ?? records.first,
            let byteCount = tag.integer(at: record + 4, count: 4, isBigEndian: true),
            let offset = tag.integer(at: record + 8, count: 4, isBigEndian: true)
        else { return nil }
        var units: [UInt16] = []
        for index in 0..<min(byteCount, nameLimit) / 2 {
            guard let unit = tag.integer(at: offset + index * 2, count: 2, isBigEndian: true) else { return nil }
            units.append(UInt16(unit))
        }
        return printable(String(decoding: units, as: UTF16.self))
    }

    /// The ASCII part of version 2's `textDescriptionType`.
    private static func plainText(in tag: RawSpan) -> String? {
        guard let byteCount = tag.integer(at: 8, count: 4, isBigEndian: true) else { return nil }
        let characters = (0..<min(byteCount, nameLimit)).compactMap { tag.byte(at: 12 + $0) }
        return printable(String(decoding: characters, as: UTF8.self))
    }

    /// Up to the first control character: a zero ends the text, a terminal takes orders from others, and some turn the
    /// direction of what follows.
    private static func printable(_ text: String) -> String? {
        let shown = text.unicodeScalars.prefix { ![.control, .format].contains($0.properties.generalCategory) }
        return shown.isEmpty ? nil : String(String.UnicodeScalarView(shown))
    }

    /// In bytes; a file must not fill a screen.
    private static let nameLimit = 256
}

extension ColorProfile {
    /// A copy whose floating-point table for the perceptual intent (`D2B0`) goes by another name: lcms2 would take it
    /// before all else, but browsers do not know it, and files need something beside it for that reason.
    var bytesWithoutFloatTable: [UInt8] {
        var bytes = self.bytes
        for entry in tagEntries where bytes[entry..<entry + 4].elementsEqual("D2B0".utf8) {
            bytes.replaceSubrange(entry..<entry + 4, with: "none".utf8)
        }
        return bytes
    }

    /// Whether the tables of colours take as much room as they claim, so that lcms2 asks for no more memory than the file
    /// has bytes (and twice that: it keeps 16 bits for each 8).
    ///
    /// A few bytes can claim 255 steps along each of 15 axes.
    var hasPlausibleTables: Bool {
        withTag(.perceptualTable) { tag -> Bool? in
            if tag.hasText("mft1", at: 0) {
                return holdsTable(tag, bytesPerValue: 1, headerLength: 48 + 256 * inputCount)
            }
            if tag.hasText("mft2", at: 0) {
                guard let curveLength = tag.integer(at: 48, count: 2, isBigEndian: true) else { return false }
                return holdsTable(tag, bytesPerValue: 2, headerLength: 52 + 2 * curveLength * inputCount)
            }
            if tag.hasText("mAB ", at: 0) { return holdsModernTable(tag) }
            return false
        } ?? true
    }

    /// `lut8Type` and `lut16Type`: as many steps on each axis.
    private func holdsTable(_ tag: RawSpan, bytesPerValue: Int, headerLength: Int) -> Bool {
        guard let inputs = tag.byte(at: 8), let outputs = tag.byte(at: 9), let steps = tag.byte(at: 10) else {
            return false
        }
        return Int(inputs) == inputCount && outputs == 3
            && Self.fits(Array(repeating: steps, count: inputCount), bytesPerValue, behind: headerLength, in: tag)
    }

    /// `lutAToBType`: steps of their own for each axis, or no table at all.
    private func holdsModernTable(_ tag: RawSpan) -> Bool {
        guard let inputs = tag.byte(at: 8), let outputs = tag.byte(at: 9), Int(inputs) == inputCount, outputs == 3,
            let start = tag.integer(at: 24, count: 4, isBigEndian: true)
        else { return false }
        if start == 0 { return true }
        var steps: [UInt8] = []
        for axis in 0..<inputCount {
            guard let count = tag.byte(at: start + axis) else { return false }
            steps.append(count)
        }
        guard let bytesPerValue = tag.byte(at: start + 16) else { return false }
        return Self.fits(steps, Int(bytesPerValue), behind: start + 20, in: tag)
    }

    private static func fits(_ steps: [UInt8], _ bytesPerValue: Int, behind start: Int, in tag: RawSpan) -> Bool {
        // At most 2³² steps, so that nothing overflows.
        let valueCount = steps.reduce(3) { $0 * Int($1) }
        return valueCount > 0 && start + valueCount * bytesPerValue <= tag.byteCount
    }

    private var inputCount: Int {
        switch model {
        case .gray: 1
        case .rgb: 3
        case .cmyk: 4
        }
    }
}

extension RawSpan {
    /// ICC's `s15Fixed16Number` at `offset`; `nil` if it is not all inside the data.
    func fixedPoint(at offset: Int) -> Double? {
        integer(at: offset, count: 4, isBigEndian: true).map { Double(Int32(truncatingIfNeeded: $0)) / 65536 }
    }
}
