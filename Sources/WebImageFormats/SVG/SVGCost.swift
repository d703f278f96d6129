internal import WebImageCore

/// What drawing a part of a document takes, once per instance. Sums saturate in `Double`, so that they cannot overflow.
struct SVGCost {
    /// Elements that are drawn.
    var elementCount = 0.0
    /// Shapes and texts among them, which a paint server of an ancestor may fill.
    var shapeCount = 0.0
    /// Points of paths, which may have markers.
    var pointCount = 0.0
    /// The characters of texts, and the sum of their squares by text: Pango takes so long for a line.
    var characterCount = 0.0
    var squaredCharacterCount = 0.0
    /// Nanoseconds for each pixel of the canvas.
    var filters = SVGWork()
    /// Canvases that are held at the same time, besides the first: layers, masks, and the results of filters.
    var layerCount = 0
    /// How deep the drawing goes, with references.
    var depth = 0
    /// The largest width and height of an element in units of the canvas, for the tiles of patterns.
    var (width, height) = (0.0, 0.0)
    /// Of a filter: whether lengths are fractions of the filtered element's size.
    var perFraction = false
    /// The largest tile of a pattern, in square units.
    var tileArea = 0.0

    /// Adds what is drawn after this, `count` times.
    mutating func add(_ other: SVGCost, times count: Double = 1) {
        elementCount += other.elementCount * count
        shapeCount += other.shapeCount * count
        pointCount += other.pointCount * count
        characterCount += other.characterCount * count
        squaredCharacterCount += other.squaredCharacterCount * count
        filters.add(other.filters, times: count)
        layerCount = max(layerCount, other.layerCount)
        depth = max(depth, other.depth)
        (width, height) = (max(width, other.width), max(height, other.height))
        tileArea = max(tileArea, other.tileArea)
    }

    /// Takes the larger of each.
    mutating func raise(to other: SVGCost) {
        elementCount = max(elementCount, other.elementCount)
        shapeCount = max(shapeCount, other.shapeCount)
        pointCount = max(pointCount, other.pointCount)
        characterCount = max(characterCount, other.characterCount)
        squaredCharacterCount = max(squaredCharacterCount, other.squaredCharacterCount)
        filters.raise(to: other.filters)
        layerCount = max(layerCount, other.layerCount)
        depth = max(depth, other.depth)
        (width, height) = (max(width, other.width), max(height, other.height))
        tileArea = max(tileArea, other.tileArea)
    }

    /// Enlarges all lengths.
    mutating func enlarge(by factor: Double) {
        guard factor != 1 else { return }
        filters.enlarge(by: factor)
        (width, height) = (width * factor, height * factor)
        tileArea *= factor * factor
    }
}

/// The time of filters for each pixel, in nanoseconds: a polynomial in the pixels per user unit, and one in the length of
/// the canvas' longer side, since radii are given in the one or the other.
struct SVGWork {
    var constant = 0.0
    var (perUnit, perSquareUnit) = (0.0, 0.0)
    var (perSide, perSquareSide) = (0.0, 0.0)

    mutating func add(_ other: SVGWork, times count: Double = 1) {
        constant += other.constant * count
        perUnit += other.perUnit * count
        perSquareUnit += other.perSquareUnit * count
        perSide += other.perSide * count
        perSquareSide += other.perSquareSide * count
    }

    mutating func raise(to other: SVGWork) {
        constant = max(constant, other.constant)
        (perUnit, perSquareUnit) = (max(perUnit, other.perUnit), max(perSquareUnit, other.perSquareUnit))
        (perSide, perSquareSide) = (max(perSide, other.perSide), max(perSquareSide, other.perSquareSide))
    }

    mutating func enlarge(by factor: Double) {
        perUnit *= factor
        perSquareUnit *= factor * factor
    }

    func nanoseconds(pixelsPerUnit: Double, side: Double) -> Double {
        constant + perUnit * pixelsPerUnit + perSquareUnit * pixelsPerUnit * pixelsPerUnit + perSide * side
            + perSquareSide * side * side
    }
}

/// An element, as far as its cost goes.
struct SVGNode {
    enum Kind {
        case group, definition, shape, text, textPart, use, image, filterImage, paintServer, pattern, marker, mask, clip
        case filter, filterPrimitive, other

        /// Whether the element that `href` refers to is drawn, or its properties taken over.
        var followsReference: Bool {
            switch self {
            case .use, .textPart, .paintServer, .pattern, .filterImage, .image: true
            default: false
            }
        }
    }

    var kind: Kind
    var parent: Int
    var style = SVGStyle()
    /// The elements that `href` and `xlink:href` refer to.
    var targets: [[UInt8]] = []
    /// What the element itself takes.
    var own = SVGCost()
    /// Of a pattern: its sides, and whether they are fractions of the filled shape.
    var tile: (width: Double?, height: Double?, isFraction: Bool?)?
    var children: [Int] = []
}

/// Adds the costs of a document up: over children, and over what elements refer to.
struct SVGCostSum {
    let nodes: [SVGNode]
    let identifiers: [[UInt8]: [Int]]
    private var known: [SVGCost?]
    private var knownReferences: [[UInt8]: SVGCost] = [:]
    /// The depth at which an element was referred to, while its cost is added up; as in librsvg, also of elements `use` themselves.
    private var openDepths: [Int?]
    /// The smallest depth of an element that was referred to in a circle since it was set. Costs that depend on it hold only there.
    private var circleDepth = Int.max
    private var visitCount = 0
    /// The largest in the document.
    private let fontSize: Double
    private var depth = 0

    /// As deep as librsvg's calls may go; each takes some kilobytes of the thread's stack.
    static let depthLimit = 256
    /// Only with circles is an element visited more than once.
    private static let visitLimit = 500_000

    init(_ nodes: [SVGNode], identifiers: [[UInt8]: [Int]], fontSize: Double) {
        self.fontSize = fontSize
        self.nodes = nodes
        self.identifiers = identifiers
        known = Array(repeating: nil, count: nodes.count)
        openDepths = Array(repeating: nil, count: nodes.count)
    }

    /// Returns the cost of drawing an element with all that is inside and that it refers to. librsvg ignores a reference that closes a
    /// circle.
    ///
    /// - Throws: ``WebImageError/LimitFailure/complexity(_:)`` for too many circles, and where references go too deep.
    mutating func cost(of index: Int, isReferred: Bool = false) throws(WebImageError) -> SVGCost {
        if let cost = known[index] { return cost }
        let node = nodes[index]
        let isOpened = isReferred || node.kind == .use
        if isOpened, let open = openDepths[index] {
            circleDepth = min(circleDepth, open)
            return SVGCost()
        }
        depth += 1
        visitCount += 1
        guard depth <= Self.depthLimit else { throw Self.tooDeep }
        guard visitCount <= Self.visitLimit else {
            throw XMLReader.complex("elements that refer to each other in too many circles")
        }
        if isOpened { openDepths[index] = depth }
        let outerCircleDepth = circleDepth
        circleDepth = .max
        var cost = node.own
        if node.kind == .text { try addText(of: index, to: &cost) }
        for child in node.children where drawsWithParent(nodes[child], in: node) {
            cost.add(try self.cost(of: child))
        }
        for target in node.targets { cost.add(try self.cost(ofReference: target)) }
        cost.enlarge(by: node.style.enlargement)
        try addStyle(of: node, to: &cost)
        if node.kind == .pattern {
            // Its tile is measured where it fills something.
            cost.layerCount += 1
            (cost.width, cost.height) = (0, 0)
        }
        cost.elementCount += 1
        cost.depth += 1
        guard cost.depth <= Self.depthLimit else { throw Self.tooDeep }
        if isOpened { openDepths[index] = nil }
        if circleDepth > depth { known[index] = cost }
        // A circle that ends here does not matter outside.
        circleDepth = min(outerCircleDepth, circleDepth < depth ? circleDepth : .max)
        depth -= 1
        return cost
    }

    private static var tooDeep: WebImageError { XMLReader.complex("references more than \(depthLimit) deep") }

    /// Elements that others refer to are not drawn where they stand.
    private func drawsWithParent(_ child: SVGNode, in parent: SVGNode) -> Bool {
        switch child.kind {
        case .definition, .pattern, .marker, .mask, .clip, .filter, .paintServer: false
        case .filterPrimitive, .filterImage: parent.kind == .filter
        default: true
        }
    }

    /// Adds the cost of what the properties refer to.
    private mutating func addStyle(of node: SVGNode, to cost: inout SVGCost) throws(WebImageError) {
        var layers = node.style.needsLayer ? 1 : 0
        var ancestor = node
        var style = node.style
        // What a property inherits by request; a chain of them is rare, and short.
        var count = 0
        while ancestor.style.inheritsEffects, ancestor.parent >= 0, count < XMLReader.depthLimit {
            ancestor = nodes[ancestor.parent]
            style.references += ancestor.style.references.filter { $0.use != .paint && $0.use != .marker }
            style.filterFunctionCount += ancestor.style.filterFunctionCount
            count += 1
        }
        let (shapeCount, pointCount) = (cost.shapeCount, cost.pointCount)
        let (width, height) = (cost.width, cost.height)
        for reference in style.references {
            var referred = try self.cost(ofReference: reference.id)
            referred.shapeCount = 0
            referred.pointCount = 0
            let count: Double
            switch reference.use {
            case .paint:
                count = shapeCount
                referred.tileArea = max(referred.tileArea, try largestTile(reference.id, width, height))
            case .marker: count = pointCount
            case .mask:
                count = 1
                layers += 2
            case .clip: count = 1
            case .filter: count = 1
            }
            cost.add(referred, times: count)
        }
        if style.filterFunctionCount > 0 {
            cost.filters.constant += 250 * Double(style.filterFunctionCount)
            layers += 3
        }
        cost.layerCount += layers
    }

    private mutating func cost(ofReference id: [UInt8]) throws(WebImageError) -> SVGCost {
        if let cost = knownReferences[id] { return cost }
        var cost = SVGCost()
        let outerCircleDepth = circleDepth
        circleDepth = .max
        for index in identifiers[id] ?? [] {
            // Of elements with the same identifier only one counts, but which is the library's matter.
            cost.raise(to: try self.cost(of: index, isReferred: true))
        }
        if circleDepth == .max { knownReferences[id] = cost }
        circleDepth = min(outerCircleDepth, circleDepth)
        return cost
    }

    /// The tile of a pattern; what it does not set is that of the pattern it refers to.
    private func tile(
        of index: Int, depth: Int = 0
    ) -> (width: Double, height: Double, isFraction: Bool?, enlargement: Double) {
        let node = nodes[index]
        var tile = (node.tile?.width ?? 0, node.tile?.height ?? 0, node.tile?.isFraction, node.style.enlargement)
        let others = node.targets.lazy.compactMap { target in
            (identifiers[target] ?? []).prefix(Self.patternLimit).first { nodes[$0].tile != nil }
        }
        guard depth < 16, let next = others.first else { return tile }
        let other = self.tile(of: next, depth: depth + 1)
        if node.tile?.width == nil { tile.0 = other.width }
        if node.tile?.height == nil { tile.1 = other.height }
        tile.2 = tile.2 ?? other.isFraction
        tile.3 = max(tile.3, other.enlargement)
        return tile
    }

    /// The area of a pattern's tile that fills shapes of this size.
    private func largestTile(_ id: [UInt8], _ width: Double, _ height: Double) throws(WebImageError) -> Double {
        var largest = 0.0
        let patterns = (identifiers[id] ?? []).prefix(Self.patternLimit + 1).filter { nodes[$0].tile != nil }
        guard patterns.count <= Self.patternLimit else { throw XMLReader.complex("patterns with the same identifier") }
        for index in patterns {
            let tile = tile(of: index)
            let isFraction = tile.isFraction ?? true
            let area = tile.width * (isFraction ? width : 1) * tile.height * (isFraction ? height : 1)
            let enlargement = max(1, tile.enlargement)
            largest = max(largest, area * enlargement * enlargement)
        }
        return largest
    }

    private static let patternLimit = 32

    /// A text is laid out as a whole, with its parts.
    private func addText(of index: Int, to cost: inout SVGCost) throws(WebImageError) {
        var count = 0.0
        var pending = [index]
        while let next = pending.popLast() {
            count += nodes[next].own.characterCount
            pending += nodes[next].children
        }
        cost.squaredCharacterCount += count * count
        cost.shapeCount += 1
        (cost.width, cost.height) = (max(cost.width, count * fontSize), max(cost.height, 2 * fontSize))
    }
}
