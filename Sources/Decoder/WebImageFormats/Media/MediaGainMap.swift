internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// Finds the gain map of an AVIF or HEIC: the second input of a tone-mapped image (ISO/IEC 23008-12), or Apple's auxiliary image.
///
///     tmap: ISO 21496-1 ──dimg──▶ main image, map          or: map: auxC ──auxl──▶ main image
extension LibraryDecoder: GainMapDecoder {
    func gainMap(of data: Data) throws(WebImageError) -> StoredGainMap? {
        guard library.hasMediaBoxes else { return nil }
        return try data.withBytes { (bytes) throws(WebImageError) in
            let boxes = Box.list(in: bytes.bytes, 0..<bytes.count)
            guard let type = boxes.first, type.type == "ftyp",
                let meta = boxes.first(where: { $0.type == "meta" }), meta.isWhole,
                let table = ItemTable(bytes.bytes, meta.content), let main = table.mainImage
            else { return nil }
            let reader = MediaGainMap(bytes, table, main: main)
            guard let found = reader.toneMapped ?? reader.auxiliary else { return nil }
            var builder = MediaStillBuilder(
                bytes, fileType: type.range, table, format: format, limits: LibraryFormat.headerLimits)
            try builder.addImage(found.map, isPlain: true)
            return StoredGainMap(
                file: Data(builder.finish()), metadata: found.metadata, colors: found.colors,
                encoding: found.encoding)
        }
    }
}

private struct MediaGainMap {
    private let source: UnsafeRawBufferPointer
    private let table: ItemTable
    private let main: Int

    struct Found {
        /// The item with the map.
        var map: Int
        var metadata: GainMapMetadata
        var colors: GainMapColors?
        var encoding = StoredGainMap.Encoding.iso
    }

    /// - Parameter main: the image to show.
    init(_ source: UnsafeRawBufferPointer, _ table: ItemTable, main: Int) {
        (self.source, self.table, self.main) = (source, table, main)
    }

    /// With ISO 21496-1.
    var toneMapped: Found? {
        for item in table.order.filter({ table.items[$0]?.type == "tmap" }).prefix(Self.countLimit) {
            let inputs = table.inputs(of: item)
            guard inputs.count == 2, inputs[0] == main, inputs[1] != main, let content = table.items[item],
                content.obstacle == nil
            else { continue }
            let byteCount = content.extents.reduce(0) { $0 + $1.count }
            guard byteCount <= Self.metadataLimit else { continue }
            var payload = content.extents.flatMap { source[$0] }
            // The version of the box.
            guard payload.first == 0 else { continue }
            payload.removeFirst()
            guard let metadata = GainMapMetadata(iso: payload) else { continue }
            let colors = colors(of: metadata.usesBaseColors ? main : item)
            return Found(map: inputs[1], metadata: metadata, colors: colors)
        }
        return nil
    }

    /// Apple's.
    var auxiliary: Found? {
        let map = table.sources("auxl", to: main).first { table.isAppleGainMap($0, in: source.bytes) }
        guard let map else { return nil }
        let exif = table.sources("cdsc", to: main).first { table.items[$0]?.type == "Exif" }.flatMap(content)
        let xmp = table.sources("cdsc", to: map).first { table.items[$0]?.type == "mime" }.flatMap(content)
        let stored = ImageMetadata(storedEXIF: exif, xmp: xmp)
        let metadata = AppleGainMap.metadata(xmp: stored.xmp, exif: stored.exif)
        return metadata.map { Found(map: map, metadata: $0, colors: colors(of: main), encoding: .linear) }
    }

    private func content(of item: Int) -> Data? {
        guard let content = table.items[item], content.obstacle == nil,
            content.extents.reduce(0, { $0 + $1.count }) <= Self.textLimit
        else { return nil }
        return Data(content.extents.flatMap { source[$0] })
    }

    /// Returns the colors of an item; `nil` for sRGB. A grid has the colors of its cells.
    private func colors(of item: Int) -> GainMapColors? {
        let bytes = source.bytes
        for part in [item] + table.inputs(of: item).prefix(1) {
            for box in table.properties(of: part).map(\.box) where box.type == "colr" {
                let start = box.content.lowerBound
                if bytes.hasText("prof", at: start) || bytes.hasText("rICC", at: start) {
                    guard let profile = ColorProfile(Array(source[box.content].dropFirst(4))), profile.model == .rgb
                    else {
                        continue
                    }
                    return ColorConversion(from: .profile(profile)).isIdentity ? nil : .profile(profile)
                }
                guard bytes.hasText("nclx", at: start), let primaries = bytes.number(at: start + 4, 2),
                    let transfer = bytes.number(at: start + 6, 2)
                else { continue }
                // Unspecified primaries are sRGB's.
                if primaries == 1 || primaries == 2 { return nil }
                return .codePoints(
                    ColorCodePoints(
                        primaries: UInt8(truncatingIfNeeded: primaries), transfer: UInt8(truncatingIfNeeded: transfer)))
            }
        }
        return nil
    }

    private static let countLimit = 16
    /// In bytes. That of today has 142.
    private static let metadataLimit = 4_096
    private static let textLimit = 1 << 20
}
