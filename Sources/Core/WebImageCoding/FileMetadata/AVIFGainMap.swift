internal import FoundationEssentials
internal import WebImageCore

extension GainMap {
    /// Returns an AVIF with the map as a further item, from which with the image a third one is derived (ISO/IEC 23008-12, `tmap`).
    ///
    ///     altr: tmap ──dimg──▶ image, map          a reader that knows no tmap shows the image, which remains the primary item
    ///
    /// Both files are those of an encoder. `nil` if one is not a still image.
    func added(toAVIF image: Data, _ map: Data) throws(WebImageError) -> Data? {
        guard let own = ItemSource(image, offset: 0), let other = ItemSource(map, offset: image.count),
            own.table.items[own.main]?.type == "av01", other.table.items[other.main]?.type == "av01",
            let size = own.table.properties(of: own.main).first(where: { $0.box.type == "ispe" })
        else { return nil }
        var source = [UInt8](image) + [UInt8](map)
        func add(_ type: String, _ content: [UInt8]) -> Range<Int> {
            let start = source.count
            source.appendBox(type) { $0 += content }
            return start..<source.count
        }
        let fileType = add("ftyp", own.fileType + Array("tmap".utf8))
        let depths = add("pixi", [0, 0, 0, 0, 3] + [UInt8](repeating: Self.depth, count: 3))
        let mapColors = add("colr", other.plainColors)
        let brightColors = add("colr", colors.colorBox)
        let metadata = add("free", [0] + self.metadata.iso)

        let bytes: [UInt8]? = source.withUnsafeBytes { bytes in
            var writer = ItemFileWriter(bytes, fileType: fileType)
            let identifiers = own.copyItems(own.table.order, to: &writer)
            guard let primary = identifiers[own.main] else { return nil }
            let mapItem = writer.addItem("av01")
            for property in other.table.properties(of: other.main) where property.box.type != "colr" {
                writer.addProperty(
                    other.moved(property.box.range), isEssential: property.isEssential, to: mapItem)
            }
            writer.addProperty(mapColors, isEssential: false, to: mapItem)
            _ = writer.setData(other.extents(of: other.main), of: mapItem)

            let bright = writer.addItem("tmap", isHidden: false)
            writer.addProperty(size.box.range, isEssential: false, to: bright)
            writer.addProperty(depths, isEssential: false, to: bright)
            writer.addProperty(brightColors, isEssential: false, to: bright)
            _ = writer.setData([metadata.lowerBound + 8..<metadata.upperBound], of: bright)
            writer.addReference("dimg", from: bright, to: [primary, mapItem])
            writer.addGroup("altr", of: [bright, primary])
            return writer.finish(primary: primary, startsWithTables: true)
        }
        return bytes.map { Data($0) }
    }

    /// Bits of a channel that the brighter image is worth.
    private static let depth: UInt8 = 10
}

/// A file with items whose bytes are a part of others.
private struct ItemSource {
    let table: ItemTable
    let main: Int
    /// The content of `ftyp`.
    let fileType: [UInt8]
    /// The colors of the main image without primaries and curve, which are none of a map's.
    let plainColors: [UInt8]
    private let offset: Int

    init?(_ file: Data, offset: Int) {
        let boxes = Box.list(in: file.bytes, 0..<file.count)
        guard let type = boxes.first, type.type == "ftyp", type.isWhole, !boxes.contains(where: { $0.type == "moov" }),
            let meta = boxes.first(where: { $0.type == "meta" }), meta.isWhole,
            let table = ItemTable(file.bytes, meta.content), let main = table.mainImage,
            table.items.values.allSatisfy({ $0.obstacle == nil }), table.items.count < 1000
        else { return nil }
        (self.table, self.main, self.offset) = (table, main, offset)
        fileType = type.content.compactMap { file.bytes.byte(at: $0) }
        let colors = table.properties(of: main).first { $0.box.type == "colr" }?.box.content
        let own = colors.map { $0.compactMap { file.bytes.byte(at: $0) } } ?? []
        // BT.601 in full range, which encoders of RGB use, if the file does not tell.
        let matrixAndRange = own.starts(with: "nclx".utf8) && own.count >= 11 ? Array(own[8..<11]) : [0, 6, 0x80]
        plainColors = Array("nclx".utf8) + [0, 2, 0, 2] + matrixAndRange
    }

    func moved(_ range: Range<Int>) -> Range<Int> { range.lowerBound + offset..<range.upperBound + offset }

    func extents(of item: Int) -> [Range<Int>] { (table.items[item]?.extents ?? []).map(moved) }

    /// Copies items with their properties, data and references; returns their new identifiers.
    func copyItems(_ items: [Int], to writer: inout ItemFileWriter) -> [Int: Int] {
        var identifiers: [Int: Int] = [:]
        for item in items {
            guard let content = table.items[item] else { continue }
            let identifier = writer.addItem(
                content.type, contentType: content.contentType, isHidden: content.isHidden)
            identifiers[item] = identifier
            for property in table.properties(of: item) {
                writer.addProperty(moved(property.box.range), isEssential: property.isEssential, to: identifier)
            }
            _ = writer.setData(extents(of: item), of: identifier)
        }
        for item in items {
            for type in ["auxl", "prem", "cdsc", "dimg", "thmb"] {
                let targets = table.targets(type, from: item).compactMap { identifiers[$0] }
                if let identifier = identifiers[item], !targets.isEmpty {
                    writer.addReference(type, from: identifier, to: targets)
                }
            }
        }
        return identifiers
    }
}

extension GainMapColors? {
    /// The content of a `colr` box of the brighter image: without colors of its own, sRGB's primaries with PQ's curve.
    fileprivate var colorBox: [UInt8] {
        switch self {
        case .profile(let profile): Array("prof".utf8) + profile.bytes
        case .codePoints(let points): Self.codePoints(points.primaries, points.transfer)
        case nil: Self.codePoints(1, 16)
        }
    }

    private static func codePoints(_ primaries: UInt8, _ transfer: UInt8) -> [UInt8] {
        // RGB in full range.
        Array("nclx".utf8) + [0, primaries, 0, transfer, 0, 0, 0x80]
    }
}
