internal import FoundationEssentials

/// Writes a file with items (ISO/IEC 14496-12, 8.11), whose properties and data are parts of another file.
///
///     ftyp │ mdat: data │ meta: hdlr, pitm, iloc, iinf, iref, iprp, grpl
package struct ItemFileWriter {
    private var bytes: [UInt8] = []
    private let source: UnsafeRawBufferPointer
    private let dataStart: Int
    private var items: [Item] = []
    private var references: [(type: String, from: Int, to: [Int])] = []
    private var groups: [(type: String, items: [Int])] = []
    private var properties: [Range<Int>] = []
    private var propertyIndices: [Range<Int>: Int] = [:]
    /// Whether the pixels of all images are no colors: primaries and curves become those of sRGB, so that nothing is converted.
    package var hasPlainColors = false
    /// Where data was copied to; several items may have the same.
    private var places: [[Range<Int>]: Range<Int>] = [:]

    private struct Item {
        let type: String
        let contentType: String
        let isHidden: Bool
        var properties: [(index: Int, isEssential: Bool)] = []
        var data = 0..<0
    }

    /// - Parameters:
    ///   - source: must exist as long as this value does.
    ///   - fileType: where the `ftyp` box is.
    package init(_ source: UnsafeRawBufferPointer, fileType: Range<Int>) {
        self.source = source
        bytes.append(contentsOf: source[fileType])
        bytes.append(number: 0, 4)
        bytes.append(text: "mdat")
        dataStart = bytes.count
    }

    package var itemCount: Int { items.count }
    /// The bytes of data so far.
    package var dataByteCount: Int { bytes.count - dataStart }

    /// Returns the identifier of the new item. Identifiers rise from 1, and must remain below 65,536.
    package mutating func addItem(_ type: String, contentType: String = "", isHidden: Bool = true) -> Int {
        items.append(Item(type: type, contentType: contentType, isHidden: isHidden))
        return items.count
    }

    /// Adds a property, a box of the source. An item has at most 255 of them; all items have 32,767 different ones, and
    /// further ones are ignored.
    package mutating func addProperty(_ box: Range<Int>, isEssential: Bool, to item: Int) {
        var index = propertyIndices[box]
        if index == nil, properties.count < 0x7FFF {
            properties.append(box)
            index = properties.count
            propertyIndices[box] = index
        }
        if let index { items[item - 1].properties.append((index, isEssential)) }
    }

    package mutating func addReference(_ type: String, from item: Int, to items: [Int]) {
        references.append((type, item, items))
    }

    /// Copies data, unless the same was copied before; returns its place in the new file.
    package mutating func setData(_ extents: [Range<Int>], of item: Int) -> Range<Int> {
        let place: Range<Int>
        if let known = places[extents] {
            place = known
        } else {
            let start = bytes.count
            for extent in extents { bytes.append(contentsOf: source[extent]) }
            place = start..<bytes.count
            places[extents] = place
        }
        items[item - 1].data = place
        return place
    }

    /// Calls `body` with all bytes so far.
    package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result { body(bytes.span.bytes) }

    /// Adds a group of items, in the order of preference (ISO/IEC 14496-12, 8.18).
    mutating func addGroup(_ type: String, of items: [Int]) { groups.append((type, items)) }

    /// Returns the file.
    ///
    /// - Parameter startsWithTables: whether the tables are before the data, so that readers know all about the items before it arrives.
    package consuming func finish(primary: Int, startsWithTables: Bool = false) -> [UInt8] {
        if !items.contains(where: { $0.type == Self.toneMapped }) { replaceToneMappedBrand() }
        bytes.replace(number: bytes.count - dataStart + 8, at: dataStart - 8)
        guard startsWithTables else {
            var output = bytes
            bytes = []
            appendTables(to: &output, primary: primary, dataOffset: 0)
            return output
        }
        let fileTypeEnd = dataStart - 8
        var tables: [UInt8] = []
        appendTables(to: &tables, primary: primary, dataOffset: 0)
        // The same length with the right numbers.
        let length = tables.count
        tables = []
        appendTables(to: &tables, primary: primary, dataOffset: length)
        return bytes[..<fileTypeEnd] + tables + bytes[fileTypeEnd...]
    }

    /// libavif refuses files with this brand and without such an item from version 1.2 on.
    private mutating func replaceToneMappedBrand() {
        for offset in stride(from: 8, through: dataStart - 12, by: 4)
        where bytes[offset..<offset + 4].elementsEqual(Self.toneMapped.utf8) {
            bytes.replaceSubrange(offset..<offset + 4, with: "mif1".utf8)
        }
    }

    /// The type of an item that is derived from an image and its gain map, and the brand of files with one.
    private static let toneMapped = "tmap"

    private func appendTables(to output: inout [UInt8], primary: Int, dataOffset: Int) {
        output.appendBox("meta") { output in
            output.append(number: 0, 4)
            output.appendBox("hdlr") { output in
                output.append(number: 0, 8)
                output.append(text: "pict")
                output.append(contentsOf: repeatElement(0, count: 13))
            }
            output.appendBox("pitm") { output in
                output.append(number: 0, 4)
                output.append(number: primary, 2)
            }
            appendLocations(to: &output, dataOffset: dataOffset)
            appendItems(to: &output)
            if !references.isEmpty { appendReferences(to: &output) }
            output.appendBox("iprp") { output in appendProperties(to: &output) }
            if !groups.isEmpty { appendGroups(to: &output) }
        }
    }

    private func appendGroups(to bytes: inout [UInt8]) {
        bytes.appendBox("grpl") { bytes in
            for (index, group) in groups.enumerated() {
                bytes.appendBox(group.type) { bytes in
                    bytes.append(number: 0, 4)
                    // Groups and items have different identifiers.
                    bytes.append(number: items.count + 1 + index, 4)
                    bytes.append(number: group.items.count, 4)
                    for item in group.items { bytes.append(number: item, 4) }
                }
            }
        }
    }

    private func appendLocations(to bytes: inout [UInt8], dataOffset: Int) {
        bytes.appendBox("iloc") { bytes in
            bytes.append(number: 0, 4)
            // Offsets and lengths of four bytes, no base.
            bytes.append(number: 0x4400, 2)
            bytes.append(number: items.count, 2)
            for (index, item) in items.enumerated() {
                bytes.append(number: index + 1, 2)
                bytes.append(number: 0, 2)
                // A length of 0 would be all of the file.
                bytes.append(number: item.data.isEmpty ? 0 : 1, 2)
                guard !item.data.isEmpty else { continue }
                bytes.append(number: item.data.lowerBound + dataOffset, 4)
                bytes.append(number: item.data.count, 4)
            }
        }
    }

    private func appendItems(to bytes: inout [UInt8]) {
        bytes.appendBox("iinf") { bytes in
            bytes.append(number: 0, 4)
            bytes.append(number: items.count, 2)
            for (index, item) in items.enumerated() {
                bytes.appendBox("infe") { bytes in
                    bytes.append(number: 2 << 24 | (item.isHidden ? 1 : 0), 4)
                    bytes.append(number: index + 1, 2)
                    bytes.append(number: 0, 2)
                    bytes.append(text: item.type)
                    bytes.append(0)
                    if item.type == "mime" {
                        bytes.append(text: item.contentType)
                        bytes.append(0)
                    }
                }
            }
        }
    }

    private func appendReferences(to bytes: inout [UInt8]) {
        bytes.appendBox("iref") { bytes in
            bytes.append(number: 0, 4)
            for reference in references {
                bytes.appendBox(reference.type) { bytes in
                    bytes.append(number: reference.from, 2)
                    bytes.append(number: reference.to.count, 2)
                    for item in reference.to { bytes.append(number: item, 2) }
                }
            }
        }
    }

    private func appendProperties(to bytes: inout [UInt8]) {
        bytes.appendBox("ipco") { bytes in
            for property in properties {
                let start = bytes.count
                bytes.append(contentsOf: source[property])
                if hasPlainColors { bytes.makePlain(boxAt: start) }
            }
        }
        bytes.appendBox("ipma") { bytes in
            // Indices of 15 bits.
            bytes.append(number: 1, 4)
            bytes.append(number: items.lazy.filter { !$0.properties.isEmpty }.count, 4)
            for (index, item) in items.enumerated() where !item.properties.isEmpty {
                bytes.append(number: index + 1, 2)
                bytes.append(number: item.properties.count, 1)
                for property in item.properties {
                    bytes.append(number: property.index | (property.isEssential ? 0x8000 : 0), 2)
                }
            }
        }
    }
}

extension [UInt8] {
    /// Appends a number of `count` bytes, the most significant first.
    mutating func append(number: Int, _ count: Int) {
        for index in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    mutating func append(text: String) { append(contentsOf: text.utf8) }

    /// Replaces four bytes.
    fileprivate mutating func replace(number: Int, at offset: Int) {
        for index in 0..<4 { self[offset + index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * index)) }
    }

    /// Changes the code points of a `colr` box at the end.
    fileprivate mutating func makePlain(boxAt start: Int) {
        guard count >= start + 16, self[start + 4..<start + 12].elementsEqual("colrnclx".utf8) else { return }
        replaceSubrange(start + 12..<start + 16, with: [0, 1, 0, 13])
    }

    mutating func appendBox(_ type: String, _ content: (inout [UInt8]) -> Void) {
        let start = count
        append(number: 0, 4)
        append(text: type)
        content(&self)
        replace(number: count - start, at: start)
    }
}
