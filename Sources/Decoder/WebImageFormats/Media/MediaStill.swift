internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// One image of an AVIF or HEIC, as a file of its own.
///
///     original ─▶ ItemTable ─▶ image, cells, alpha, thumbnails, metadata ─▶ ItemFileWriter ─▶ library
///
/// The libraries get this file and never the original. So they see only as many items, references, properties and bytes
/// as were counted here, each cell once and in the order of its grid, with one place in the file. What versions of
/// libavif and libheif make of everything else differs.
struct MediaStill {
    let bytes: [UInt8]
    /// The images that can be chosen.
    let pageCount: Int
    /// Whether the image is made of cells.
    let isGrid: Bool

    /// - Parameters:
    ///   - source: the whole file.
    ///   - page: the index of an image; `nil` for the main one.
    init(
        _ source: UnsafeRawBufferPointer, format: ImageFormat, limits: DecodingLimits, page: Int? = nil,
        hasThumbnails: Bool = false, hasMetadata: Bool = false
    ) throws(WebImageError) {
        let (type, table) = try Self.tables(of: source, format: format)
        // libavif reads the main image only.
        let pages = format == .avif ? [] : table.topLevelImages
        pageCount = max(1, pages.count)
        var image = table.mainImage
        if let page {
            let index = try format.page(page, of: pageCount)
            if pages.indices.contains(index) { image = pages[index] }
        }
        guard let image else { throw format.unsupported(Self.noImage) }
        var builder = MediaStillBuilder(source, fileType: type, table, format: format, limits: limits)
        try builder.addImage(image)
        if hasThumbnails { builder.addThumbnails(of: image) }
        if hasMetadata { builder.addMetadata(of: image) }
        (bytes, isGrid) = (builder.finish(), builder.isGrid)
    }

    /// Returns the EXIF and XMP of the main image. Nothing else of it has to be there, nor be anything that can be decoded.
    static func metadata(
        of source: UnsafeRawBufferPointer, format: ImageFormat, limits: DecodingLimits
    ) throws(WebImageError) -> ImageMetadata {
        let table = try tables(of: source, format: format).items
        guard let image = table.mainImage else { throw format.unsupported(noImage) }
        let items = table.metadata(of: image, upTo: limits.metadataByteCount)
        func data(_ isWanted: (ItemTable.Item) -> Bool) -> Data? {
            items.first(where: isWanted).map { item in
                item.extents.reduce(into: Data()) { $0.append(contentsOf: source[$1]) }
            }
        }
        return ImageMetadata(
            storedEXIF: data { $0.type == "Exif" },
            xmp: data { $0.type == "mime" && $0.contentType == "application/rdf+xml" })
    }

    /// Returns the place of the file's type, and its items.
    private static func tables(
        of source: UnsafeRawBufferPointer, format: ImageFormat
    ) throws(WebImageError) -> (type: Range<Int>, items: ItemTable) {
        let boxes = Box.list(in: source.bytes, 0..<source.count)
        guard let type = boxes.first, type.type == "ftyp", type.range.count <= fileTypeLimit else {
            throw format.corrupt("no file type at the beginning")
        }
        guard let meta = boxes.first(where: { $0.type == "meta" }) else {
            guard boxes.allSatisfy(\.isWhole) else { throw format.truncated }
            throw format.unsupported(noImage)
        }
        guard meta.isWhole else { throw format.truncated }
        guard let table = ItemTable(source.bytes, meta.content) else { throw format.corrupt("no items") }
        return (type.range, table)
    }

    private static let fileTypeLimit = 4_096
    private static let noImage = "an image sequence without a still image"
}

/// Collects the items of an image.
struct MediaStillBuilder {
    /// Whether the image to show is a grid of cells.
    private(set) var isGrid = false
    private let table: ItemTable
    private let source: UnsafeRawBufferPointer
    private let format: ImageFormat
    private let limits: DecodingLimits
    private var writer: ItemFileWriter
    private var primary = 0
    private var isPlain = false
    /// Of all coded and derived images.
    private var pixelCount = 0

    /// The maximum number of parts of an image and its alpha. Cameras write some 200, and MIAF allows none below 64 ×
    /// 64.
    static let partLimit = 1_024
    private static let depthLimit = 4
    private static let propertyLimit = 64
    private static let thumbnailLimit = 8

    init(
        _ source: UnsafeRawBufferPointer, fileType: Range<Int>, _ table: ItemTable, format: ImageFormat,
        limits: DecodingLimits
    ) {
        (self.table, self.source, self.format, self.limits) = (table, source, format, limits)
        writer = ItemFileWriter(source, fileType: fileType)
    }

    mutating func finish() -> [UInt8] { writer.finish(primary: primary) }

    /// Adds the image to show, and its alpha.
    ///
    /// - Parameter isPlain: whether it has no alpha, and its pixels are no colors.
    mutating func addImage(_ image: Int, isPlain: Bool = false) throws(WebImageError) {
        self.isPlain = isPlain
        writer.hasPlainColors = isPlain
        primary = try add(image, isHidden: false)
        if isPlain { return }
        isGrid = table.items[image]?.type == "grid"
        guard let alpha = table.alpha(of: image, in: source.bytes), alpha != image else {
            try addAlphaOfCells(of: image)
            return
        }
        // libavif before 1.0 refuses alpha without a size; the image has the same.
        let size = table.properties(of: image).first { $0.box.type == "ispe" }
        let identifier = try add(alpha, missingSize: size)
        writer.addReference("auxl", from: identifier, to: [primary])
        if table.targets("prem", from: image).contains(alpha) {
            writer.addReference("prem", from: primary, to: [identifier])
        }
    }

    /// Makes a grid of the cells' alpha, which libavif before 1.0 and libheif do not look for.
    private mutating func addAlphaOfCells(of image: Int) throws(WebImageError) {
        let alphas = table.alphaOfCells(of: image, in: source.bytes)
        guard let first = alphas.first, let grid = table.items[image] else { return }
        let identifier = writer.addItem("grid", isHidden: true)
        let properties =
            table.properties(of: image).filter { $0.box.type == "ispe" }
            + table.properties(of: first).filter { ["auxC", "pixi"].contains($0.box.type) }
        for property in properties {
            writer.addProperty(property.box.range, isEssential: property.isEssential, to: identifier)
        }
        let data = writer.setData(grid.extents, of: identifier)
        try addInputs(alphas, "grid", identifier, data, depth: 0)
        writer.addReference("auxl", from: identifier, to: [primary])
    }

    /// Adds the thumbnails that can be read. Those with more pixels than the image are none.
    mutating func addThumbnails(of image: Int) {
        let whole = size(of: image)?.pixelCount ?? 0
        for thumbnail in table.sources("thmb", to: image).prefix(Self.thumbnailLimit)
        where ["hvc1", "av01"].contains(table.items[thumbnail]?.type) {
            let before = self
            guard size(of: thumbnail)?.pixelCount ?? .max <= whole, let identifier = try? add(thumbnail) else {
                self = before
                continue
            }
            writer.addReference("thmb", from: identifier, to: [primary])
        }
    }

    /// Adds EXIF and XMP.
    mutating func addMetadata(of image: Int) {
        for content in table.metadata(of: image, upTo: limits.metadataByteCount) {
            guard (try? checkData(content.extents)) != nil else { continue }
            let identifier = writer.addItem(content.type, contentType: content.contentType)
            _ = writer.setData(content.extents, of: identifier)
            writer.addReference("cdsc", from: identifier, to: [primary])
        }
    }

    // MARK: Images

    /// Adds an image and those that it is made of; returns its identifier.
    private mutating func add(
        _ item: Int, isHidden: Bool = true, missingSize: ItemTable.Property? = nil,
        depth: Int = 0
    ) throws(WebImageError) -> Int {
        guard let content = table.items[item] else { throw format.corrupt("an image that is not in the file") }
        guard writer.itemCount < Self.partLimit, depth < Self.depthLimit else {
            throw format.unsupported("an image of more than \(Self.partLimit) parts, or of parts of parts")
        }
        switch content.obstacle {
        case .missing: throw format.truncated
        case .unsupported: throw format.unsupported("an image that is encrypted or in another file")
        case nil: break
        }
        try checkData(content.extents)
        let identifier = writer.addItem(content.type, isHidden: isHidden)
        var properties = Array(table.properties(of: item).prefix(Self.propertyLimit))
        if let missingSize, !properties.contains(where: { $0.box.type == "ispe" }) {
            properties.insert(missingSize, at: 0)
        }
        for property in properties where !isPlain || !isProfile(property.box) {
            writer.addProperty(property.box.range, isEssential: property.isEssential, to: identifier)
        }
        let data = writer.setData(content.extents, of: identifier)
        guard let size = size(from: properties) else { throw format.corrupt("an image without a size") }
        switch content.type {
        case "av01", "hvc1":
            guard properties.contains(where: { $0.box.type == (content.type == "av01" ? "av1C" : "hvcC") }) else {
                throw format.corrupt("a coded image without its configuration")
            }
            try count(size)
        case "grid", "iovl", "iden":
            try count(size)
            try addInputs(table.inputs(of: item), content.type, identifier, data, depth: depth)
        default: throw format.unsupported("images of the type \(content.type)")
        }
        return identifier
    }

    private mutating func addInputs(
        _ inputs: [Int], _ type: String, _ identifier: Int, _ data: Range<Int>, depth: Int
    ) throws(WebImageError) {
        var inputs = inputs
        let canvas = writer.withBytes { DerivedCanvas(type, data, in: $0) }
        if type != "iden" {
            guard let canvas else { throw format.corrupt("a \(type) without a description") }
            try count(canvas.size)
            if let cellCount = canvas.cellCount {
                guard inputs.count >= cellCount else {
                    throw format.corrupt("a grid of \(cellCount) cells, with \(inputs.count) of them in the file")
                }
                inputs = Array(inputs.prefix(cellCount))
            }
        }
        guard inputs.count <= Self.partLimit else {
            throw format.unsupported("an image of \(inputs.count) parts, more than \(Self.partLimit)")
        }
        var identifiers: [Int] = []
        for input in inputs { identifiers.append(try add(input, depth: depth + 1)) }
        if !identifiers.isEmpty { writer.addReference("dimg", from: identifier, to: identifiers) }
    }

    // MARK: Bounds

    /// Counts pixels that are decoded or composed. A grid has about those of its canvas again.
    private mutating func count(_ size: PixelSize) throws(WebImageError) {
        try limits.check(size)
        pixelCount += size.pixelCount
        // Without overflow for any limit.
        guard (pixelCount - 1) / Self.pixelFactor < limits.pixelCount else {
            throw .limitExceeded(reason: .pixels(size: size, limit: limits.pixelCount))
        }
    }

    /// Color, alpha, and a canvas for each, larger cells at the edge, and two descriptions of each canvas.
    private static let pixelFactor = 8

    /// Items may share data; only hostile files have more of it than bytes.
    private func checkData(_ extents: [Range<Int>]) throws(WebImageError) {
        let byteCount = writer.dataByteCount + extents.reduce(0) { $0 + $1.count }
        guard byteCount <= min(2 * source.count + Self.sharedByteCount, Self.dataLimit) else {
            throw format.corrupt("items that are larger than the file")
        }
    }

    private static let sharedByteCount = 1 << 20
    /// Offsets have 32 bits.
    private static let dataLimit = 4_000_000_000

    private func isProfile(_ box: Box) -> Bool {
        box.type == "colr" && !source.bytes.hasText("nclx", at: box.content.lowerBound)
    }

    private func size(of item: Int) -> PixelSize? { size(from: table.properties(of: item)) }

    private func size(from properties: [ItemTable.Property]) -> PixelSize? {
        guard let box = properties.first(where: { $0.box.type == "ispe" })?.box,
            box.content.count >= 12, let width = source.bytes.number(at: box.content.lowerBound + 4, 4),
            let height = source.bytes.number(at: box.content.lowerBound + 8, 4), width > 0, height > 0
        else { return nil }
        return PixelSize(width: width, height: height)
    }
}

/// The description of a grid or of an overlay (ISO/IEC 23008-12, 6.6.2).
private struct DerivedCanvas {
    let size: PixelSize
    /// `nil` for an overlay, which has as many as it refers to.
    let cellCount: Int?

    init?(_ type: String, _ data: Range<Int>, in bytes: RawSpan) {
        let bytes = bytes.extracting(data)
        guard let flags = bytes.number(at: 1, 1) else { return nil }
        let length = flags & 1 == 0 ? 2 : 4
        var start = 10
        if type == "grid" {
            guard let rows = bytes.number(at: 2, 1), let columns = bytes.number(at: 3, 1) else { return nil }
            (start, cellCount) = (4, (rows + 1) * (columns + 1))
        } else {
            cellCount = nil
        }
        guard let width = bytes.number(at: start, length), let height = bytes.number(at: start + length, length) else {
            return nil
        }
        size = PixelSize(width: width, height: height)
    }
}
