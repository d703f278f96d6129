/// An embedded ICC profile (ICC.1:2022): its header, and the locations of its tags.
///
///     0        128   132                     …
///     │ header │ n │ n × (name, offset, size) │ tags, in any order; several names may share one │
///
/// Only profiles of pixels are accepted: input, display, output and color space profiles, from gray, RGB or CMYK to XYZ
/// or Lab. Every tag is within the bytes; the contents are checked when used.
public struct ColorProfile: Sendable, Hashable {
    /// The bytes, as many as the header says.
    public let bytes: [UInt8]
    /// The color model of the pixels.
    public let model: ColorModel
    /// The color space it converts to.
    let connectionSpace: ConnectionSpace
    private let tags: [Int: Range<Int>]
    private let tagCount: Int
    /// A hash of all bytes, computed once: the transform cache looks profiles up inside its lock.
    private let digest: Int

    /// ICC's profile connection space, under D50.
    enum ConnectionSpace: Sendable {
        case xyz
        case lab
    }

    /// The longest profile that is read, 4 MiB; printing profiles have up to about 3.
    static let byteLimit = 4 << 20

    /// Reads a profile of at most 4 MiB; `nil` for an invalid one and for other kinds; the image is shown as if it had none.
    public init?(_ bytes: [UInt8]) {
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
            // Of several with the same name, lcms2 uses the first too.
            if tags[name] == nil { tags[name] = offset..<offset + size }
        }
        self.bytes = length == bytes.count ? bytes : Array(bytes[..<length])
        var hasher = Hasher()
        // At once: an array would hash half a megabyte byte by byte.
        self.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        digest = hasher.finalize()
        self.model = model
        self.connectionSpace = space
        self.tags = tags
        self.tagCount = tagCount
    }

    /// The offsets of the entries in the tag table.
    var tagEntries: some Sequence<Int> { Self.entries(count: tagCount) }

    private static func entries(count: Int) -> StrideTo<Int> {
        let first = headerLength + 4
        return stride(from: first, to: first + count * 12, by: 12)
    }

    func hasTag(_ name: TagName) -> Bool { tags[name.rawValue] != nil }

    /// Calls `body` with the bytes of a tag; returns `nil` if there is none.
    func withTag<Result>(_ name: TagName, _ body: (RawSpan) -> Result?) -> Result? {
        guard let range = tags[name.rawValue] else { return nil }
        return body(bytes.span.bytes.extracting(range))
    }

    /// Compares the bytes.
    public static func == (first: ColorProfile, second: ColorProfile) -> Bool { first.bytes == second.bytes }

    /// Feeds a hash of the bytes to `hasher`.
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    /// As big-endian numbers.
    enum TagName: Int {
        case redColorant = 0x7258_595A  // rXYZ
        case greenColorant = 0x6758_595A  // gXYZ
        case blueColorant = 0x6258_595A  // bXYZ
        case redCurve = 0x7254_5243  // rTRC
        case greenCurve = 0x6754_5243  // gTRC
        case blueCurve = 0x6254_5243  // bTRC
        case grayCurve = 0x6B54_5243  // kTRC
        /// The color table of the perceptual intent.
        case perceptualTable = 0x4132_4230  // A2B0
        case description = 0x6465_7363  // desc
    }

    private static let headerLength = 128
    /// lcms2 has the same limit.
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
    /// The profile's description, such as `Display P3`; `nil` if there is none in Unicode.
    public var name: String? {
        withTag(.description) { tag in
            if tag.hasText("mluc", at: 0) { return Self.localizedText(in: tag) }
            if tag.hasText("desc", at: 0) { return Self.plainText(in: tag) }
            return nil
        }
    }

    /// `multiLocalizedUnicodeType`: English if available, else the first language.
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

    /// Returns the text up to the first control character: a zero ends the text, and others could control a terminal or
    /// the text direction.
    private static func printable(_ text: String) -> String? {
        let shown = text.unicodeScalars.prefix { ![.control, .format].contains($0.properties.generalCategory) }
        return shown.isEmpty ? nil : String(String.UnicodeScalarView(shown))
    }

    /// In bytes.
    private static let nameLimit = 256
}

extension ColorProfile {
    /// The bytes with the floating-point table of the perceptual intent (`D2B0`) renamed: lcms2 would prefer it, but
    /// browsers ignore it.
    var bytesWithoutFloatTable: [UInt8] {
        var bytes = self.bytes
        for entry in tagEntries where bytes[entry..<entry + 4].elementsEqual("D2B0".utf8) {
            bytes.replaceSubrange(entry..<entry + 4, with: "none".utf8)
        }
        return bytes
    }

    /// Whether the color tables are as long as they claim, so that lcms2 allocates no more than about twice the file's
    /// bytes. A few bytes can claim 255 steps along each of 15 axes.
    var hasPlausibleTables: Bool {
        withTag(.perceptualTable) { tag -> Bool? in
            if tag.hasText("mft1", at: 0) {
                return containsTable(tag, bytesPerValue: 1, headerLength: 48 + 256 * inputCount)
            }
            if tag.hasText("mft2", at: 0) {
                guard let curveLength = tag.integer(at: 48, count: 2, isBigEndian: true) else { return false }
                return containsTable(tag, bytesPerValue: 2, headerLength: 52 + 2 * curveLength * inputCount)
            }
            if tag.hasText("mAB ", at: 0) { return containsModernTable(tag) }
            return false
        } ?? true
    }

    /// `lut8Type` and `lut16Type`: the same number of steps on each axis.
    private func containsTable(_ tag: RawSpan, bytesPerValue: Int, headerLength: Int) -> Bool {
        guard let inputs = tag.byte(at: 8), let outputs = tag.byte(at: 9), let steps = tag.byte(at: 10) else {
            return false
        }
        return Int(inputs) == inputCount && outputs == 3
            && Self.fits(Array(repeating: steps, count: inputCount), bytesPerValue, behind: headerLength, in: tag)
    }

    /// `lutAToBType`: a number of steps for each axis, or no table.
    private func containsModernTable(_ tag: RawSpan) -> Bool {
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
        // At most 2³² steps, so this cannot overflow.
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
    /// Reads ICC's `s15Fixed16Number`; `nil` outside the data.
    func fixedPoint(at offset: Int) -> Double? {
        integer(at: offset, count: 4, isBigEndian: true).map { Double(Int32(truncatingIfNeeded: $0)) / 65536 }
    }
}
