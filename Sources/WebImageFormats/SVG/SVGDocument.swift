package import FoundationEssentials
package import WebImageCoding
package import WebImageCore

/// An SVG document that was read before librsvg sees a byte of it.
///
///     file ──▶ UTF-8 ──▶ XMLReader ──┬──▶ SVGNode ──▶ SVGCostSum ──▶ limits
///                                    └──▶ SVGWriter ──▶ what librsvg reads
///
/// librsvg reads what is written from the elements that were counted, so that nothing can be for it what it was not
/// here.
package struct SVGDocument {
    /// What librsvg reads: UTF-8 without document type, comments and references but those of markup.
    package let bytes: [UInt8]
    let cost: SVGCost
    /// The size of the view box; `nil` without one.
    let viewBox: (width: Double, height: Double)?
    /// The memory of the parsed document, and of images in it.
    let byteCount: Int

    /// - Throws: ``WebImageError/decoding(format:reason:url:)``, and the errors of limits.
    package init(_ data: Data, limits: DecodingLimits) throws(WebImageError) {
        try self.init(data, limits: limits, nesting: 0)
    }

    fileprivate init(_ data: Data, limits: DecodingLimits, nesting: Int) throws(WebImageError) {
        // The text in UTF-8 and what is written from it.
        try SVGBounds.check(data.count * 4, limits)
        var builder = SVGBuilder(limits: limits, nesting: nesting)
        var reader = try XMLReader(try XMLText.utf8(data))
        while let event = try reader.next() {
            switch event {
            case .start(let name, let attributes): try builder.start(name, attributes)
            case .text(let text): try builder.text(text)
            case .end: try builder.end()
            }
        }
        (cost, byteCount, viewBox) = (try builder.cost(), builder.byteCount, builder.rootViewBox)
        bytes = builder.writer.bytes
        try SVGBounds.check(cost)
    }

    /// The maximum memory of drawing at a size: the document, the canvas, layers, and the tile of a pattern.
    func byteCount(drawnAt size: PixelSize, ofIntrinsic intrinsic: PixelSize) -> Int {
        let scale = pixelsPerUnit(size, intrinsic)
        let tile = 4 * cost.tileArea * scale * scale
        let canvases = Double(size.pixelByteCount) * Double(1 + cost.layerCount)
        return Int(min(1e18, Double(byteCount) + canvases + tile))
    }

    /// Checks what depends on the size.
    func check(_ size: PixelSize, ofIntrinsic intrinsic: PixelSize, _ limits: DecodingLimits) throws(WebImageError) {
        try SVGBounds.check(byteCount(drawnAt: size, ofIntrinsic: intrinsic), limits)
        let work = cost.filters.nanoseconds(
            pixelsPerUnit: pixelsPerUnit(size, intrinsic), side: Double(max(size.width, size.height)))
        let seconds = work * Double(size.pixelCount) / 1e9
        guard seconds <= SVGBounds.filterSeconds else {
            throw XMLReader.complex("filters that take about \(Int(min(seconds, 1e9))) s at this size")
        }
    }

    private func pixelsPerUnit(_ size: PixelSize, _ intrinsic: PixelSize) -> Double {
        let (width, height) = viewBox ?? (Double(intrinsic.width), Double(intrinsic.height))
        return max(Double(size.width) / max(width, 1e-9), Double(size.height) / max(height, 1e-9))
    }
}

/// The limits of an SVG document besides ``DecodingLimits``. Files of drawing programs and maps are far below.
enum SVGBounds {
    static let elementCount = 200_000
    static let attributeByteCount = 10_000_000
    static let styleSheetByteCount = 2 << 20
    static let gradientStopCount = 10_000
    /// Comparisons of selectors with elements.
    static let selectorMatchCount = 200_000_000
    static let referenceCount = 1_000_000
    /// With what is used several times.
    static let drawnElementCount = 500_000.0
    static let characterCount = 100_000.0
    /// Pango takes 17 ns for each pair of characters of a text.
    static let squaredCharacterCount = 4e8
    static let filterSeconds = 60.0
    static let embeddedDocumentDepth = 2
    /// The maximum memory of a document, so that a small file cannot take all of a larger limit.
    static let byteCount = 480 << 20

    static func check(_ count: Int, _ limits: DecodingLimits) throws(WebImageError) {
        let limit = min(limits.memoryByteCount, byteCount)
        if count > limit { throw .limitExceeded(reason: .memory(byteCount: count, limit: limit)) }
    }

    static func check(_ cost: SVGCost) throws(WebImageError) {
        guard cost.elementCount <= drawnElementCount else {
            throw XMLReader.complex("more than \(Int(drawnElementCount)) elements are drawn")
        }
        guard cost.characterCount <= characterCount, cost.squaredCharacterCount <= squaredCharacterCount else {
            throw XMLReader.complex("too long a text")
        }
    }
}

/// Makes nodes and the text for librsvg from the elements of a document.
private struct SVGBuilder {
    let limits: DecodingLimits
    let nesting: Int
    private(set) var writer = SVGWriter()
    private(set) var byteCount = 0
    private(set) var rootViewBox: (width: Double, height: Double)?
    private var nodes: [SVGNode] = []
    private var identifiers: [[UInt8]: [Int]] = [:]
    private var open: [Int] = []
    private var styleSheet = SVGStyleSheet()
    private var styleText: [UInt8]?
    /// What is needed to find the rules that apply to each element.
    private var names: [(name: ArraySlice<UInt8>, id: [UInt8]?, classes: [UInt8]?)] = []
    /// Elements that fit a view box into a rectangle.
    private var viewports: [(node: Int, viewBox: (width: Double, height: Double), width: Double?, height: Double?)] = []
    private var rootSize = (width: 300.0, height: 150.0)
    private var largestUse = 0.0
    private var stopCount = 0
    private var fontSize = 16.0

    init(limits: DecodingLimits, nesting: Int) { (self.limits, self.nesting) = (limits, nesting) }

    // MARK: Events

    mutating func start(
        _ name: ArraySlice<UInt8>, _ attributes: [XMLReader.Attribute]
    ) throws(WebImageError) {
        let local = Self.localName(name)
        let index = nodes.count
        guard index < SVGBounds.elementCount else {
            throw XMLReader.complex("more than \(SVGBounds.elementCount) elements")
        }
        var values: [String: [UInt8]] = [:]
        var node = SVGNode(kind: Self.kind(of: local), parent: open.last ?? -1)
        if styleText != nil { throw XMLReader.damaged("an element in a style sheet") }
        var written: [XMLReader.Attribute] = []
        byteCount += 2048 + 256 * attributes.count
        for attribute in attributes {
            var attribute = attribute
            let key = Self.localName(attribute.name)
            // Attributes of drawing programs mean nothing here, and must not be taken for those without a prefix.
            guard Self.isRead(attribute.name, key) else { continue }
            defer { written.append(attribute) }
            guard attribute.value.count <= SVGBounds.attributeByteCount else {
                throw XMLReader.complex("an attribute of more than \(SVGBounds.attributeByteCount) bytes")
            }
            byteCount += attribute.value.count * (key == "d" || key == "points" ? 24 : 1)
            if key == "style" {
                try SVGStyleSheet.addInline(attribute.value, to: &node.style)
            } else if key == "href" {
                if node.kind == .image || node.kind == .filterImage, let url = DataURL(attribute.value) {
                    attribute = XMLReader.Attribute(
                        name: attribute.name, value: try embed(url, in: &node, attributes))
                } else if node.kind.followsReference, let id = try SVGStyle.identifier(in: attribute.value[...]) {
                    node.targets.append(id)
                }
            } else {
                if attribute.name.starts(with: "xml".utf8) { continue }
                try node.style.add(
                    key == "patternTransform" || key == "gradientTransform" ? "transform" : key, attribute.value)
                values[key] = attribute.value
            }
        }
        // An element that draws itself draws nothing; librsvg 2.60 would leave out all that follows, too.
        if local == "use", let id = values["id"], node.targets.contains(id) {
            node.targets = []
            written.removeAll { Self.localName($0.name) == "href" }
        }
        if local == "include" || local == "xml-stylesheet" { throw ImageFormat.svg.unsupported("XInclude") }
        try measure(&node, local, values)
        fontSize = max(fontSize, node.style.fontSize)
        if let id = values["id"] { identifiers[id, default: []].append(index) }
        names.append((name, values["id"], values["class"]))
        if let parent = open.last { nodes[parent].children.append(index) }
        nodes.append(node)
        open.append(index)
        if local == "style" { styleText = [] }
        writer.start(name, written)
        try SVGBounds.check(byteCount, limits)
    }

    mutating func text(_ text: [UInt8]) throws(WebImageError) {
        writer.text(text)
        if styleText != nil {
            styleText?.append(contentsOf: text)
        } else if let index = open.last, nodes[index].kind == .text || nodes[index].kind == .textPart {
            let count = Double(text.count { $0 & 0xC0 != 0x80 })
            nodes[index].own.characterCount += count
            byteCount += Int(count) * 4096
            try SVGBounds.check(byteCount, limits)
        } else {
            byteCount += text.count
        }
    }

    mutating func end() throws(WebImageError) {
        writer.end()
        if let text = styleText, open.last.map({ Self.localName(names[$0].name) == "style" }) ?? false {
            styleText = nil
            try styleSheet.add(text)
            byteCount += 16 * text.count
            guard styleSheet.byteCount <= SVGBounds.styleSheetByteCount else {
                throw XMLReader.complex("style sheets of more than \(SVGBounds.styleSheetByteCount) bytes")
            }
        }
        open.removeLast()
    }

    /// Returns the cost of drawing the whole document.
    mutating func cost() throws(WebImageError) -> SVGCost {
        guard !nodes.isEmpty, Self.localName(names[0].name) == "svg" else { throw XMLReader.damaged("no element svg") }
        guard styleSheet.selectorCount * nodes.count <= SVGBounds.selectorMatchCount else {
            throw XMLReader.complex("too many style rules for so many elements")
        }
        var referenceCount = 0
        for index in nodes.indices {
            let (name, id, classes) = names[index]
            for style in styleSheet.styles(name: ArraySlice(Self.localName(name).utf8), id: id, classes: classes) {
                nodes[index].style.merge(style)
            }
            referenceCount += nodes[index].style.references.count
            guard referenceCount <= SVGBounds.referenceCount else { throw XMLReader.complex("too many references") }
        }
        for (index, viewBox, width, height) in viewports {
            let (width, height) = (width ?? max(rootSize.width, largestUse), height ?? max(rootSize.height, largestUse))
            nodes[index].style.enlargement *= max(width / viewBox.width, height / viewBox.height)
        }
        var sum = SVGCostSum(nodes, identifiers: identifiers, fontSize: fontSize)
        return try sum.cost(of: 0)
    }

    // MARK: Elements

    private mutating func measure(
        _ node: inout SVGNode, _ local: String, _ values: [String: [UInt8]]
    ) throws(WebImageError) {
        switch node.kind {
        case .shape:
            let extent = Self.extent(of: local, values)
            node.own.shapeCount = 1
            node.own.pointCount = Double(extent.pointCount)
            (node.own.width, node.own.height) = (extent.width, extent.height)
        case .group, .definition, .marker, .pattern:
            if node.kind == .pattern {
                node.tile = (
                    SVGNumbers.length(values["width"]), SVGNumbers.length(values["height"]),
                    values["patternUnits"].map { !$0.elementsEqual("userSpaceOnUse".utf8) }
                )
                if values["width"]?.contains(UInt8(ascii: "%")) == true { node.tile?.width = 1 }
                if values["height"]?.contains(UInt8(ascii: "%")) == true { node.tile?.height = 1 }
            }
            try measureViewport(local, values, isRoot: open.isEmpty, node.kind)
        case .use:
            let sides = [values["width"], values["height"]].compactMap(SVGNumbers.length)
            largestUse = max(largestUse, sides.max() ?? 0)
        case .paintServer where local == "stop":
            stopCount += 1
            guard stopCount <= SVGBounds.gradientStopCount else {
                throw XMLReader.complex("more than \(SVGBounds.gradientStopCount) gradient stops")
            }
        case .filterPrimitive, .filterImage:
            guard let parent = open.last, nodes[parent].kind == .filter else { return }
            let isFraction = nodes[parent].own.perFraction
            node.own.filters = try SVGFilterPrimitive.work(of: local, values, isFraction: isFraction)
            // Each result is held until the filter ends; the source and its parts too.
            nodes[parent].own.layerCount += 1
            if nodes[parent].own.layerCount > 128 { throw XMLReader.complex("a filter of more than 120 steps") }
        case .filter:
            node.own.layerCount = 3
            node.own.perFraction = values["primitiveUnits"]?.elementsEqual("objectBoundingBox".utf8) == true
        default: break
        }
    }

    private mutating func measureViewport(
        _ local: String, _ values: [String: [UInt8]], isRoot: Bool, _ kind: SVGNode.Kind
    ) throws(WebImageError) {
        var numbers = SVGNumbers(values["viewBox"] ?? [])
        _ = (numbers.next(), numbers.next())
        let box: (width: Double, height: Double)?
        if let width = numbers.next(), let height = numbers.next(), width > 0, height > 0 {
            box = (width, height)
        } else {
            box = nil
        }
        let isMarker = kind == .marker
        let width = SVGNumbers.length(values[isMarker ? "markerWidth" : "width"])
        let height = SVGNumbers.length(values[isMarker ? "markerHeight" : "height"])
        if isRoot {
            rootViewBox = box
            rootSize = (width ?? box?.width ?? 300, height ?? box?.height ?? 150)
        } else if let box {
            let side = isMarker ? 3.0 : nil
            viewports.append((nodes.count, box, width ?? side, height ?? side))
        }
    }

    private static func extent(of local: String, _ values: [String: [UInt8]]) -> SVGExtent {
        func length(_ name: String) -> Double { abs(SVGNumbers.length(values[name]) ?? 0) }
        switch local {
        case "path": return SVGExtent(path: values["d"] ?? [])
        case "polyline", "polygon": return SVGExtent(points: values["points"] ?? [])
        case "rect": return SVGExtent(width: length("width"), height: length("height"))
        case "circle": return SVGExtent(width: 2 * length("r"), height: 2 * length("r"))
        case "ellipse": return SVGExtent(width: 2 * length("rx"), height: 2 * length("ry"))
        default:
            return SVGExtent(
                points: Array("\(length("x1")),\(length("y1")) \(length("x2")),\(length("y2"))".utf8))
        }
    }

    /// Whether an attribute is one of SVG, XLink or XML that librsvg reads. Any prefix may stand for XLink.
    private static func isRead(_ name: ArraySlice<UInt8>, _ local: String) -> Bool {
        guard let colon = name.firstIndex(of: UInt8(ascii: ":")) else { return true }
        switch String(decoding: name[..<colon], as: UTF8.self) {
        case "xmlns": return true
        case "xml": return local == "space" || local == "lang"
        default: return local == "href"
        }
    }

    private static func localName(_ name: ArraySlice<UInt8>) -> String {
        let colon = name.lastIndex(of: UInt8(ascii: ":"))
        return String(decoding: colon.map { name[name.index(after: $0)...] } ?? name, as: UTF8.self)
    }

    private static func kind(of name: String) -> SVGNode.Kind {
        switch name {
        case "svg", "g", "a", "switch": .group
        case "defs", "symbol": .definition
        case "path", "rect", "circle", "ellipse", "line", "polyline", "polygon": .shape
        case "text": .text
        case "tspan", "tref", "textPath": .textPart
        case "use": .use
        case "image": .image
        case "feImage": .filterImage
        case "linearGradient", "radialGradient", "stop": .paintServer
        case "pattern": .pattern
        case "marker": .marker
        case "mask": .mask
        case "clipPath": .clip
        case "filter": .filter
        default: name.hasPrefix("fe") ? .filterPrimitive : .other
        }
    }

    // MARK: Images in the document

    /// Checks an embedded image, and returns the URL that librsvg gets: without an image if it cannot be one.
    private mutating func embed(
        _ url: DataURL, in node: inout SVGNode, _ attributes: [XMLReader.Attribute]
    ) throws(WebImageError) -> [UInt8] {
        guard let data = url.data else { return [] }
        if let format = ImageFormat(signatureOf: data), format == .svg {
            guard nesting < SVGBounds.embeddedDocumentDepth else {
                throw XMLReader.complex("documents in documents more than \(SVGBounds.embeddedDocumentDepth) deep")
            }
            let document = try SVGDocument(data, limits: limits, nesting: nesting + 1)
            byteCount += document.byteCount + 2 * document.bytes.count
            var cost = document.cost
            let box = document.viewBox ?? (1, 1)
            let sides = attributes.filter { ["width", "height"].contains(Self.localName($0.name)) }
                .compactMap { SVGNumbers.length($0.value) }
            cost.enlarge(by: max(1, (sides.max() ?? max(rootSize.width, rootSize.height)) / min(box.width, box.height)))
            cost.layerCount += 1
            node.own.add(cost)
            return DataURL.text(of: Data(document.bytes), .svg)
        }
        guard let info = try? Self.rasters.info(of: data) else { return [] }
        try limits.check(info.size)
        // The pixels as gdk-pixbuf and as cairo have them.
        byteCount += info.size.pixelByteCount * 2 * max(1, min(info.frameCount, 64)) + 3 * data.count
        try SVGBounds.check(byteCount, limits)
        return DataURL.text(of: data, info.format)
    }

    /// The formats that librsvg shows in documents.
    private static let rasters = CodecRegistry(
        decoders: [GIFDecoder(), WebPDecoder(), JPEGDecoder(), PNGDecoder()], encoders: [])
}

/// A `data:` URL (RFC 2397).
private struct DataURL {
    private let header: String
    private let content: ArraySlice<UInt8>

    /// `nil` for another URL.
    init?(_ value: [UInt8]) {
        let value = value[...].drop(while: XMLReader.isSpace)
        guard String(decoding: value.prefix(5), as: UTF8.self).lowercased() == "data:",
            let comma = value.firstIndex(of: UInt8(ascii: ","))
        else { return nil }
        header = String(decoding: value[..<comma], as: UTF8.self).lowercased()
        content = value[value.index(after: comma)...]
    }

    /// The content; `nil` if it is not valid.
    var data: Data? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count)
        var position = content.startIndex
        while position < content.endIndex {
            let byte = content[position]
            if byte == UInt8(ascii: "%"), position + 2 < content.endIndex,
                let number = UInt8(String(decoding: content[position + 1...position + 2], as: UTF8.self), radix: 16)
            {
                bytes.append(number)
                position += 3
            } else {
                bytes.append(byte)
                position += 1
            }
        }
        let isBase64 = header.filter { $0 != " " }.hasSuffix(";base64")
        return isBase64 ? Data(base64Encoded: Data(bytes), options: .ignoreUnknownCharacters) : Data(bytes)
    }

    static func text(of data: Data, _ format: ImageFormat) -> [UInt8] {
        Array("data:\(format.mimeType);base64,".utf8) + Array(data.base64EncodedData())
    }
}
