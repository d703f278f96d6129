/// The items of a `meta` box, their properties, references and places (ISO/IEC 14496-12, 8.11).
///
/// The tables are bounded: what is beyond ``countLimit`` is not read, so that memory grows with the limit and not with
/// the file.
package struct ItemTable {
    package struct Item {
        /// `grid`, `hvc1`, `Exif` …
        package var type: String
        /// Of items of the type `mime`.
        package var contentType: String
        var isHidden: Bool
        /// The places of the data in the file.
        package var extents: [Range<Int>] = []
        /// Why the data cannot be used; `nil` if it can.
        package var obstacle: Obstacle?
    }

    package enum Obstacle: Sendable {
        /// The file ends before the data does.
        case missing
        /// The data is encrypted, compressed, in another file, or in another item.
        case unsupported
    }

    package struct Property {
        package let box: Box
        /// Whether readers that do not know it must not show the item.
        package let isEssential: Bool
    }

    private(set) var primary: Int?
    package private(set) var items: [Int: Item] = [:]
    /// The identifiers of the items, in the order of the file.
    package private(set) var order: [Int] = []
    /// By type and item.
    private var references: [String: [Int: [Int]]] = [:]
    private var boxes: [Box] = []
    private var associations: [Int: [(index: Int, isEssential: Bool)]] = [:]
    private var data: Range<Int>?
    /// The number of entries that the tables may still take.
    private var entriesLeft = countLimit

    /// The maximum number of items, extents, references and associations in all.
    private static let countLimit = 1 << 18

    /// `nil` if the box is empty.
    ///
    /// - Parameters:
    ///   - bytes: the file, or a part of it.
    ///   - range: the content of the box in `bytes`.
    ///   - origin: where the part is in the file. The places of data are those in the file.
    ///   - fileByteCount: the length of the file; by default that of `bytes`.
    package init?(
        _ bytes: RawSpan, _ range: Range<Int>, at origin: Int = 0, ofFileOf fileByteCount: Int? = nil
    ) {
        guard range.count >= 4 else { return nil }
        let file = 0..<(fileByteCount ?? bytes.byteCount)
        var locations: Box?
        for box in Box.list(in: bytes, range.lowerBound + 4..<range.upperBound) {
            let start = box.content.lowerBound
            if box.type == "idat" {
                data = data ?? box.content.lowerBound + origin..<box.content.upperBound + origin
            }
            guard let version = bytes.byte(at: start) else { continue }
            switch box.type {
            case "pitm": primary = primary ?? bytes.number(at: start + 4, version == 0 ? 2 : 4)
            case "iinf": readItems(bytes, box.content, countLength: version == 0 ? 2 : 4)
            case "iloc": locations = locations ?? box
            case "iref": readReferences(bytes, box.content, identifierLength: version == 0 ? 2 : 4)
            case "iprp":
                for part in Box.list(in: bytes, box.content) {
                    if part.type == "ipco", boxes.isEmpty { boxes = Box.list(in: bytes, part.content) }
                    if part.type == "ipma" { readAssociations(bytes, part.content) }
                }
            default: break
            }
        }
        // Their items and the data must be known.
        if let locations { readLocations(bytes, locations.content, in: file) }
    }

    // MARK: Questions

    package func properties(of item: Int) -> [Property] {
        (associations[item] ?? []).compactMap { association in
            guard boxes.indices.contains(association.index - 1) else { return nil }
            return Property(box: boxes[association.index - 1], isEssential: association.isEssential)
        }
    }

    /// The items that a derived image is made of.
    package func inputs(of item: Int) -> [Int] { targets("dimg", from: item) }

    package func targets(_ type: String, from item: Int) -> [Int] { references[type]?[item] ?? [] }

    /// In the order of the file.
    package func sources(_ type: String, to item: Int) -> [Int] {
        guard let sources = references[type] else { return [] }
        return order.filter { sources[$0]?.contains(item) ?? false }
    }

    /// The items with EXIF and XMP of an image that can be read, each of at most `byteLimit` bytes.
    package func metadata(of image: Int, upTo byteLimit: Int) -> [Item] {
        sources("cdsc", to: image).prefix(Self.metadataLimit).compactMap { items[$0] }.filter { item in
            ["Exif", "mime"].contains(item.type) && item.obstacle == nil
                && item.extents.reduce(0) { $0 + $1.count } <= byteLimit
        }
    }

    private static let metadataLimit = 16

    /// The auxiliary image with the alpha of `item`.
    package func alpha(of item: Int, in bytes: RawSpan) -> Int? {
        sources("auxl", to: item).first { isAlpha($0, in: bytes) }
    }

    /// The auxiliary images with the alpha of each cell of a grid that has no alpha of its own; empty if one has none.
    package func alphaOfCells(of grid: Int, in bytes: RawSpan) -> [Int] {
        guard items[grid]?.type == "grid" else { return [] }
        var alphas: [Int: Int] = [:]
        for item in order where isAlpha(item, in: bytes) {
            for target in targets("auxl", from: item) where alphas[target] == nil { alphas[target] = item }
        }
        let cells = inputs(of: grid)
        let found = cells.compactMap { alphas[$0] }
        return found.count == cells.count ? found : []
    }

    private func isAlpha(_ item: Int, in bytes: RawSpan) -> Bool {
        properties(of: item).contains { $0.box.type == "auxC" && Self.isAlpha($0.box, in: bytes) }
    }

    private static func isAlpha(_ box: Box, in bytes: RawSpan) -> Bool {
        // Nothing behind the box counts: it is not copied with it.
        let content = bytes.extracting(box.content)
        return content.hasText("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", at: 4)
            || content.hasText("urn:mpeg:hevc:2015:auxid:1", at: 4)
            || content.hasText("urn:mpeg:avc:2015:auxid:1", at: 4)
    }

    /// The type of an auxiliary image in HEIC that is the gain map of an iPhone.
    static let appleGainMapType: StaticString = "urn:com:apple:photo:2020:aux:hdrgainmap"

    /// Whether an item is an auxiliary image of that type.
    package func isAppleGainMap(_ item: Int, in bytes: RawSpan) -> Bool {
        properties(of: item).contains { property in
            property.box.type == "auxC" && bytes.extracting(property.box.content).hasText(Self.appleGainMapType, at: 4)
        }
    }

    /// Whether a gain map belongs to `image`.
    package func hasGainMap(_ image: Int, in bytes: RawSpan) -> Bool {
        items.values.contains { $0.type == "tmap" }
            || sources("auxl", to: image).contains { isAppleGainMap($0, in: bytes) }
    }

    private static let imageTypes: Set<String> = [
        "av01", "hvc1", "hev1", "lhv1", "vvc1", "avc1", "jpeg", "j2k1", "unci", "grid", "iovl", "iden", "tmap",
    ]

    private func isImage(_ item: Int) -> Bool { items[item].map { Self.imageTypes.contains($0.type) } ?? false }

    /// The images that are neither hidden nor thumbnails or auxiliary images of others, in the order of the file.
    package var topLevelImages: [Int] {
        var parts: Set<Int> = []
        for type in ["thmb", "auxl"] { parts.formUnion((references[type] ?? [:]).keys) }
        return order.filter { isImage($0) && items[$0]?.isHidden == false && !parts.contains($0) }
    }

    /// The image to show: the primary item; but of a thumbnail or an auxiliary image its master, as libheif's programs
    /// do, and of a tone-mapped image the base. If the primary item is no image, the first image.
    package var mainImage: Int? {
        guard var item = primary.flatMap({ isImage($0) ? $0 : nil }) ?? topLevelImages.first else { return nil }
        for _ in 0..<Self.masterLimit {
            let masters = targets("thmb", from: item) + targets("auxl", from: item)
            let base = items[item]?.type == "tmap" ? inputs(of: item).first : nil
            guard let next = masters.first(where: { isImage($0) && $0 != item }) ?? base else { return item }
            item = next
        }
        return item
    }

    private static let masterLimit = 4

    // MARK: Reading

    private mutating func readItems(_ bytes: RawSpan, _ range: Range<Int>, countLength: Int) {
        let start = range.lowerBound + 4 + countLength
        guard start <= range.upperBound else { return }
        for box in Box.list(in: bytes, start..<range.upperBound) where box.type == "infe" {
            let start = box.content.lowerBound
            guard let head = bytes.number(at: start, 4), head >> 24 >= 2, takesEntries(1) else { continue }
            let length = head >> 24 == 2 ? 2 : 4
            guard let identifier = bytes.number(at: start + 4, length), items[identifier] == nil else { continue }
            let type = bytes.code(at: start + 6 + length)
            let protection = bytes.number(at: start + 4 + length, 2) ?? 0
            var item = Item(type: type, contentType: "", isHidden: head & 1 == 1)
            if protection != 0 { item.obstacle = .unsupported }
            if type == "mime" {
                // A name, then the type of the content; both end with a zero.
                let texts = bytes.texts(in: min(start + 10 + length, box.content.upperBound)..<box.content.upperBound)
                if texts.count > 1 { item.contentType = texts[1] }
                // With a third, for the encoding, the content is compressed.
                if texts.count > 2, !texts[2].isEmpty { item.obstacle = .unsupported }
            }
            items[identifier] = item
            order.append(identifier)
        }
    }

    private mutating func readReferences(_ bytes: RawSpan, _ range: Range<Int>, identifierLength length: Int) {
        guard range.count >= 4 else { return }
        for box in Box.list(in: bytes, range.lowerBound + 4..<range.upperBound) {
            let start = box.content.lowerBound
            guard let from = bytes.number(at: start, length), let count = bytes.number(at: start + length, 2),
                takesEntries(1 + count)
            else { continue }
            let targets = (0..<count).compactMap { bytes.number(at: start + length + 2 + $0 * length, length) }
            references[box.type, default: [:]][from, default: []] += targets
        }
    }

    private mutating func readAssociations(_ bytes: RawSpan, _ range: Range<Int>) {
        guard let head = bytes.number(at: range.lowerBound, 4), let count = bytes.number(at: range.lowerBound + 4, 4)
        else { return }
        let identifierLength = head >> 24 == 0 ? 2 : 4
        let indexLength = head & 1 == 0 ? 1 : 2
        let essential = indexLength == 1 ? 0x80 : 0x8000
        var offset = range.lowerBound + 8
        for _ in 0..<count {
            guard let item = bytes.number(at: offset, identifierLength),
                let number = bytes.number(at: offset + identifierLength, 1), takesEntries(1 + number)
            else { return }
            offset += identifierLength + 1
            for index in 0..<number {
                guard let value = bytes.number(at: offset + index * indexLength, indexLength) else { return }
                associations[item, default: []].append((value & (essential - 1), value & essential != 0))
            }
            offset += number * indexLength
            guard offset <= range.upperBound else { return }
        }
    }

    private mutating func readLocations(_ bytes: RawSpan, _ range: Range<Int>, in file: Range<Int>) {
        let start = range.lowerBound
        guard let version = bytes.number(at: start, 1), version <= 2, let sizes = bytes.number(at: start + 4, 2) else {
            return
        }
        let (offsetSize, lengthSize) = (sizes >> 12, sizes >> 8 & 15)
        let (baseSize, indexSize) = (sizes >> 4 & 15, version == 0 ? 0 : sizes & 15)
        guard [offsetSize, lengthSize, baseSize, indexSize].allSatisfy({ [0, 4, 8].contains($0) }) else { return }
        let identifierLength = version == 2 ? 4 : 2
        var offset = start + 6
        /// Reads the next number; 0 for one without length.
        func next(_ count: Int) -> Int? {
            defer { offset += count }
            return offset + count <= range.upperBound ? bytes.number(at: offset, count) : nil
        }
        guard let count = next(identifierLength) else { return }
        for _ in 0..<count {
            guard let identifier = next(identifierLength), let method = version == 0 ? 0 : next(2),
                let reference = next(2), let base = next(baseSize), let extentCount = next(2),
                takesEntries(1 + extentCount)
            else { return }
            var extents: [Range<Int>] = []
            var obstacle: Obstacle? = reference == 0 && method & 15 <= 1 ? nil : .unsupported
            let source = method & 15 == 1 ? data ?? 0..<0 : file
            for _ in 0..<extentCount {
                guard next(indexSize) != nil, let place = next(offsetSize), let length = next(lengthSize) else {
                    return
                }
                let (begin, overflows) = base.addingReportingOverflow(place)
                guard !overflows, begin <= source.count, length <= source.count - begin else {
                    obstacle = obstacle ?? .missing
                    continue
                }
                // Without a length, all that follows.
                let end = length == 0 ? source.upperBound : source.lowerBound + begin + length
                extents.append(source.lowerBound + begin..<end)
            }
            guard items[identifier]?.extents.isEmpty == true else { continue }
            items[identifier]?.extents = extents
            if let obstacle { items[identifier]?.obstacle = obstacle }
        }
    }

    private mutating func takesEntries(_ count: Int) -> Bool {
        guard count <= entriesLeft else { return false }
        entriesLeft -= count
        return true
    }
}

extension RawSpan {
    /// Returns the texts in a range, of which each ends with a zero.
    fileprivate func texts(in range: Range<Int>) -> [String] {
        var (texts, text): ([String], [UInt8]) = ([], [])
        for offset in range.prefix(1024) {
            guard let byte = byte(at: offset) else { break }
            if byte != 0 {
                text.append(byte)
            } else {
                texts.append(String(decoding: text, as: UTF8.self))
                text = []
            }
        }
        return texts
    }
}
