import Foundation
import WebImageCoding
import WebImageCore

@testable import WebImageFormats

/// A file with items, taken apart to be changed and written anew.
struct ItemFile {
    var source: Data
    let table: ItemTable
    let fileType: Range<Int>

    init?(_ data: Data) {
        let boxes = data.boxes()
        guard let type = boxes.first, let meta = boxes.first(where: { $0.type == "meta" }),
            let table = ItemTable(data.bytes, meta.content)
        else { return nil }
        (source, self.table, fileType) = (data, table, type.range)
    }

    var primary: Int { table.mainImage ?? 0 }
    var alpha: Int? { table.alpha(of: primary, in: source.bytes) }

    /// Adds bytes to the source, to refer to; returns where they are.
    mutating func add(_ bytes: [UInt8]) -> Range<Int> {
        source.append(contentsOf: bytes)
        return source.count - bytes.count..<source.count
    }

    mutating func addSize(_ size: PixelSize) -> Range<Int> {
        add([0, 0, 0, 20] + Array("ispe".utf8) + [0, 0, 0, 0] + Self.bytes(size.width) + Self.bytes(size.height))
    }

    static func bytes(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }

    /// Writes another file. `body` returns the identifier of the primary item.
    func write(_ body: (inout ItemFileWriter) -> Int) -> Data {
        source.withUnsafeBytes { bytes in
            var writer = ItemFileWriter(bytes, fileType: fileType)
            let primary = body(&writer)
            return Data(writer.finish(primary: primary))
        }
    }

    /// Adds a copy of an item.
    func copy(
        _ item: Int, to writer: inout ItemFileWriter, where isKept: (ItemTable.Property) -> Bool = { _ in true }
    ) -> Int {
        let identifier = writer.addItem(table.items[item]?.type ?? "")
        for property in table.properties(of: item) where isKept(property) {
            writer.addProperty(property.box.range, isEssential: property.isEssential, to: identifier)
        }
        _ = writer.setData(table.items[item]?.extents ?? [], of: identifier)
        return identifier
    }

    /// A grid whose cells are all the primary image, of `cell` pixels.
    func grid(rows: Int, columns: Int, cell: PixelSize) -> Data {
        var file = self
        let size = PixelSize(width: columns * cell.width, height: rows * cell.height)
        let payload = file.add(
            [0, 1, UInt8(rows - 1), UInt8(columns - 1)] + Self.bytes(size.width) + Self.bytes(size.height))
        let sizeBox = file.addSize(size)
        return file.write { writer in
            let grid = writer.addItem("grid", isHidden: false)
            writer.addProperty(sizeBox, isEssential: false, to: grid)
            _ = writer.setData([payload], of: grid)
            let image = file.copy(file.primary, to: &writer)
            writer.addReference("dimg", from: grid, to: Array(repeating: image, count: rows * columns))
            return grid
        }
    }
}

extension Data {
    func boxes(in range: Range<Int>? = nil) -> [Box] { Box.list(in: bytes, range ?? 0..<count) }

    func box(_ type: String, in range: Range<Int>? = nil) -> Box? { boxes(in: range).first { $0.type == type } }

    /// Replaces bytes behind the first `text`.
    func replacing(_ bytes: [UInt8], at offset: Int, behind text: String) -> Data {
        var copy = self
        guard let place = copy.firstRange(of: Data(text.utf8)) else { return copy }
        let start = place.upperBound + offset
        copy.replaceSubrange(start..<start + bytes.count, with: bytes)
        return copy
    }
}
