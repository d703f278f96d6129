internal import WebImageCoding
internal import WebImageCore

/// What OpenJPEG allocates for a code stream: the sizes are those of its structures in 2.5.0 and 2.5.3, rounded up.
///
/// | for each | bytes | of |
/// |---|---|---|
/// | tile | 8,320 | coding parameters, an index of 100 markers |
/// | tile and component | 1,080 | coding parameters |
/// | tile part | 24 | the index |
/// | component | 1,536, and 256 a resolution | decoder and packet iterator |
/// | precinct and band | 256 | its structure, two tag trees |
/// | code block | 512, or 4,608 with many segments | its structure, segments, nodes of the trees |
/// | packet | 2 | a table of those that were read |
/// | code block and layer | 32 | where its data is; at most what the file's bits can hold |
/// | pixel and component | 4 | the planes; twice if there are several tiles or strips |
/// | pixel and component of a strip | 4 | decoded code blocks, also of rows above and below that the wavelets need |
/// | pixel of a strip | 6 | the wavelets of one component, in blocks of 64 × 64 |
extension Codestream {
    /// The memory of decoding, in bytes.
    ///
    /// - Parameters:
    ///   - reduction: how often the sides are halved.
    ///   - stripHeight: the rows that are decoded at a time; `nil` for all.
    /// - Throws: ``WebImageError/LimitFailure/pixels(size:limit:)`` if a component is larger than an image may be, or
    ///   ``WebImageError/LimitFailure/memory(byteCount:limit:)`` if the tables of the tiles take more than a quarter of
    ///   the memory: a few bytes can claim 65,535 tiles.
    func byteCount(reduction: Int, stripHeight: Int? = nil, limits: DecodingLimits) throws(WebImageError) -> Int {
        let groups = groups
        for group in groups { try limits.check(group.component.size(columns, rows)) }
        let tableByteCount = tileTableByteCount
        guard tableByteCount <= limits.memoryByteCount / 4 else {
            throw .limitExceeded(reason: .memory(byteCount: tableByteCount, limit: limits.memoryByteCount / 4))
        }
        var structure = TileStructure()
        for group in groups { structure.add(group.style, group.component, count: group.count, of: self) }
        // Tiles with styles of their own reuse what tiles before them have allocated, so that all add up.
        for tile in tileStyles {
            for (component, count) in componentCounts(of: tile) {
                structure.add(tile.style, component, count: count, of: self)
            }
        }
        guard packetCount(structure) <= packetLimit else {
            throw ImageFormat.jpeg2000.corrupt("more packets than its bytes can hold")
        }
        let packetTable =
            (layerCount + 1) * structure.resolutionCount * components.count * structure.mostPrecincts * 2
        // A code block in a packet takes 6 bits or more.
        let chunks = 32 * min(structure.blockCount * layerCount, parts.end * 4 / 3)
        let iterators = components.count * structure.resolutionCount * 24 * (hasProgressionChanges ? 33 : 1)
        var (planes, longestLine, wavelets) = (0, 0, 0)
        for group in groups {
            let image = group.component.size(columns, rows).reduced(reduction)
            let tile = largestTile(of: group.component).reduced(reduction)
            longestLine = max(longestLine, tile.width, tile.height)
            if let stripHeight {
                let rowCount = min(image.height, stripHeight + 1)
                // Three bands of each resolution have a row of code blocks above and one below.
                let blocks = rowCount + 6 << group.style.blockHeight + 128
                planes += group.count * 4 * image.width * (2 * rowCount + min(blocks, 2 * image.height))
                wavelets = max(wavelets, 6 * (image.width + 128) * (rowCount + 256))
            } else {
                planes += group.count * 4 * (tile.pixelCount + (isOneTile ? 0 : image.pixelCount))
            }
        }
        // Wavelets are transformed in 16 or 32 lines at a time.
        return tableByteCount + structure.byteCount + packetTable + chunks + iterators + planes + wavelets
            + longestLine * 128 + parts.end * (hasPackedHeaders ? 3 : 1)
    }

    /// Whether all components have a row where a strip of an image of this size begins, and none has more rows.
    func canBeCut(_ size: PixelSize) -> Bool {
        let least = components.lazy.map(\.dy).min() ?? 1
        return Self.span(rows, every: least).count == size.height
            && components.allSatisfy { (128 * least) % $0.dy == 0 }
    }

    /// The heights of strips, from the fastest to the smallest.
    static let stripHeights = [2048, 1024, 512, 256, 128]

    /// Components that are alike: there can be 16,384.
    private var groups: [(component: Component, style: Style, count: Int)] {
        struct Key: Hashable {
            var component: Component
            var style: Style
        }
        var counts: [Key: Int] = [:]
        for (component, style) in zip(components, styles) {
            let shape = Component(depth: 1, isSigned: false, dx: component.dx, dy: component.dy)
            counts[Key(component: shape, style: style), default: 0] += 1
        }
        return counts.map { ($0.key.component, $0.key.style, $0.value) }
    }

    private func componentCounts(of tile: TileStyle) -> [(Component, Int)] {
        if let index = tile.component { return [(components[index], 1)] }
        var counts: [Component: Int] = [:]
        for component in components {
            counts[Component(depth: 1, isSigned: false, dx: component.dx, dy: component.dy), default: 0] += 1
        }
        return counts.map { ($0.key, $0.value) }
    }

    private var isOneTile: Bool {
        tileCount == 1 && columns.lowerBound == 0 && rows.lowerBound == 0 && tileOrigin.x == 0 && tileOrigin.y == 0
            && tileSize.width == columns.upperBound && tileSize.height == rows.upperBound
    }

    /// What ``tileCount`` and the number of components claim, before any tile.
    private var tileTableByteCount: Int {
        var count = tileCount * (8320 + components.count * 1080) + components.count * 1536
        count += transforms.byteCount * (tileCount + 1)
        let matrices = transforms.matrixCount > 0 ? tileCount + 1 : 0
        count += (matrices + transforms.tileMatrixCount) * components.count * components.count * 4
        for part in parts.counts { count += max(part.claimed, part.found + 10) * 24 }
        return count
    }

    /// The size of the largest tile of a component.
    fileprivate func largestTile(of component: Component) -> PixelSize {
        func length(_ range: Range<Int>, _ size: Int, _ step: Int) -> Int {
            min(Self.span(range, every: step).count, (min(size, range.count) + step - 1) / step + 1)
        }
        let tile = PixelSize(
            width: length(columns, tileSize.width, component.dx), height: length(rows, tileSize.height, component.dy))
        return tileCount == 1 ? component.size(columns, rows) : tile
    }

    /// The packets of all tiles, as a number that may be too large for an integer.
    private func packetCount(_ structure: TileStructure) -> Double {
        // A step takes an eighth of a packet's time.
        let steps = Double(structure.stepCount) * Double(components.count * structure.resolutionCount) / 8
        let passes: Double = hasProgressionChanges ? 33 : 1
        return passes * (Double(layerCount) * Double(structure.precinctCount) + steps) * Double(tileCount)
    }

    /// A packet takes a byte or more. Files that end early have fewer bytes than packets; that many are still quick.
    private var packetLimit: Double { Double(max(parts.end, 1 << 26)) }
}

extension Codestream.Component {
    func size(_ columns: Range<Int>, _ rows: Range<Int>) -> PixelSize {
        PixelSize(
            width: Codestream.span(columns, every: dx).count, height: Codestream.span(rows, every: dy).count)
    }
}

extension PixelSize {
    /// About 1/2ⁿ of the sides, at least what any position on the grid makes of them.
    fileprivate func reduced(_ reduction: Int) -> PixelSize {
        reduction == 0 ? self : PixelSize(width: width >> reduction + 1, height: height >> reduction + 1)
    }
}

/// The structures of one tile: precincts and code blocks of its components.
private struct TileStructure {
    var byteCount = 0
    var precinctCount = 0
    var blockCount = 0
    /// The maximum number of precincts of a resolution.
    var mostPrecincts = 1
    var resolutionCount = 1
    /// The positions that OpenJPEG visits for each component and resolution, for orders of packets that go by position.
    var stepCount = 1

    mutating func add(
        _ style: Codestream.Style, _ component: Codestream.Component, count: Int, of stream: Codestream
    ) {
        let size = stream.largestTile(of: component)
        let isExact = stream.tileCount == 1
        let start = Codestream.Point(
            x: Codestream.span(stream.columns, every: component.dx).lowerBound,
            y: Codestream.span(stream.rows, every: component.dy).lowerBound)
        resolutionCount = max(resolutionCount, style.resolutionCount)
        var (bytes, precincts, blocks, step) = (256 * style.resolutionCount, 0, 0, (x: 31, y: 31))
        for (resolution, precinct) in style.precincts.enumerated() {
            let level = style.resolutionCount - 1 - resolution
            step = (min(step.x, precinct.width + level), min(step.y, precinct.height + level))
            let width = Cells(start.x, size.width, level: level)
            let height = Cells(start.y, size.height, level: level)
            let found = width.count(precinct.width, isExact: isExact) * height.count(precinct.height, isExact: isExact)
            precincts += found
            mostPrecincts = max(mostPrecincts, found)
            // Bands of all but the smallest resolution have half the sides.
            let (bandCount, half) = resolution == 0 ? (1, 0) : (3, 1)
            let inBand =
                width.blockCount(min(style.blockWidth, precinct.width - half), half: half)
                * height.blockCount(min(style.blockHeight, precinct.height - half), half: half)
            blocks += bandCount * inBand
            bytes += bandCount * (found * 256 + inBand * (style.hasManySegments ? 4608 : 512))
        }
        byteCount += bytes * count
        precinctCount += precincts * count
        blockCount += blocks * count
        stepCount = max(stepCount, (size.width >> step.x + 1) * (size.height >> step.y + 1))
    }

    /// The columns or rows of a resolution.
    private struct Cells {
        let range: Range<Int>

        init(_ start: Int, _ length: Int, level: Int) {
            let unit = 1 << level
            range = (start + unit - 1) / unit..<(start + length + unit - 1) / unit
        }

        /// The precincts with a side of 2ⁿ. Where a tile begins is only known if there is one.
        func count(_ exponent: Int, isExact: Bool) -> Int {
            if range.isEmpty { return isExact ? 0 : 1 }
            if isExact { return (range.upperBound - 1) >> exponent - range.lowerBound >> exponent + 1 }
            return (range.count + 1 + 1 << exponent - 2) >> exponent + 1
        }

        /// The maximum number of code blocks of a band, which has 1/2ⁿ of the length.
        func blockCount(_ exponent: Int, half: Int) -> Int {
            let length = (range.count + 1) >> half + 1
            return (length + 1 << exponent - 2) >> exponent + 1
        }
    }
}
