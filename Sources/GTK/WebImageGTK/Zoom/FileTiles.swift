internal import FoundationEssentials
internal import GTKObjects
internal import WebImage

/// Tiles of an image that is too large for memory, decoded from its file where they are in sight.
///
///     cells in sight ──► one region around those that are missing ──► decoding thread ──► tiles, a few cut for each frame
///                                                                                         └─► at most `byteLimit`
///
/// Decoders read a file from its start, so that one region with neighbors takes hardly longer than a tile. The region is
/// decoded again when cells come into sight that it does not have, and cancelled when none of its cells is in sight any more.
@MainActor final class FileTiles {
    /// The bytes of the file and how to decode them.
    struct Source: Sendable {
        let data: Data
        let size: PixelSize
        let codecs: CodecRegistry
        let limits: DecodingLimits
    }

    private struct Key: Hashable {
        let step: Int
        let cell: TileGrid.Cell
    }

    private struct Entry {
        let tile: Tile
        let byteCount: Int
        var lastUse: Int
    }

    /// Cells that are decoded together.
    private struct Region: Equatable {
        let grid: TileGrid
        let columns: ClosedRange<Int>
        let rows: ClosedRange<Int>

        func contains(_ cell: TileGrid.Cell) -> Bool { columns.contains(cell.column) && rows.contains(cell.row) }
        var rect: PixelRect { grid.rect(columns: columns, rows: rows, margin: grid.step) }
        var cells: [TileGrid.Cell] {
            rows.flatMap { row in columns.map { TileGrid.Cell(column: $0, row: row) } }
        }
    }

    /// A decoded region, until its tiles are cut.
    private struct Arrival {
        let region: Region
        let pixels: PixelBuffer
        var cells: ArraySlice<TileGrid.Cell>
    }

    private let source: Source
    /// The maximum memory of the tiles, in bytes. Those in sight stay nevertheless.
    private let byteLimit: Int
    private var entries: [Key: Entry] = [:]
    private(set) var byteCount = 0
    private var drawCount = 0
    private var current: (region: Region, task: Task<Void, Never>)?
    private var arrival: Arrival?
    private lazy var ticker = FrameTicker(host: host) { [weak self] _ in self?.cutTiles() ?? false }
    private weak var host: ViewHost?

    /// Called when there are more tiles to draw.
    var onChange: () -> Void = {}
    /// Called when tiles cannot be decoded.
    var onFailure: (WebImageError) -> Void = { _ in }

    private static let side = 512
    /// A megabyte each is copied and sent to the graphics card, within a frame.
    private static let tilesPerFrame = 8

    init(_ source: Source, byteLimit: Int, host: ViewHost) {
        (self.source, self.byteLimit, self.host) = (source, byteLimit, host)
    }

    isolated deinit { cancel() }

    func cancel() {
        current?.task.cancel()
        current = nil
        ticker.stop()
    }

    /// Whether tiles are being decoded or about to be drawn.
    var isBusy: Bool { current != nil || arrival != nil }

    /// Returns the grid whose textures have at least as many pixels as the screen.
    private func grid(_ geometry: ZoomGeometry) -> TileGrid {
        var grid = TileGrid(size: source.size, side: Self.side)
        while Double(grid.step * 2) * geometry.scale <= 1 { grid.step *= 2 }
        return grid
    }

    // MARK: Decoding

    /// Decodes what is missing of the cells in sight.
    func request(_ geometry: ZoomGeometry, unit: Double) {
        let grid = grid(geometry)
        let visible = grid.visibleCells(geometry, area: geometry.area.snapped(to: unit), unit: unit).map(\.cell)
        let missing = visible.filter { entries[Key(step: grid.step, cell: $0)] == nil }
        func hasAll(_ region: Region) -> Bool { region.grid == grid && missing.allSatisfy(region.contains) }
        if missing.isEmpty || arrival.map({ hasAll($0.region) }) == true {
            // What is being decoded has been in sight before.
            current?.task.cancel()
            current = nil
            return
        }
        if let current, hasAll(current.region) { return }
        current?.task.cancel()
        let region = region(around: missing, of: grid)
        current = (
            region,
            Task { [weak self, source] in
                let result = await Self.pixels(of: region, from: source)
                if !Task.isCancelled { self?.didDecode(result, region) }
            }
        )
    }

    /// Adds a ring of neighbors, which the user may see next, if that is not too much.
    private func region(around cells: [TileGrid.Cell], of grid: TileGrid) -> Region {
        let (columns, rows) = (cells.map(\.column), cells.map(\.row))
        func range(_ indices: [Int], _ count: Int, _ margin: Int) -> ClosedRange<Int> {
            max(0, (indices.min() ?? 0) - margin)...min(count - 1, (indices.max() ?? 0) + margin)
        }
        let regions = [2, 1, 0].map { margin in
            Region(
                grid: grid, columns: range(columns, grid.columnCount, margin), rows: range(rows, grid.rowCount, margin))
        }
        return regions.first { $0.columns.count * $0.rows.count * Self.side * Self.side * 4 <= byteLimit / 2 }
            ?? regions[2]
    }

    private nonisolated static func pixels(
        of region: Region, from source: Source
    ) async -> Result<PixelBuffer, WebImageError> {
        let (rect, step) = (region.rect, region.grid.step)
        var options = DecodingOptions(firstFrameOnly: true, limits: source.limits)
        options.region = rect
        if step > 1 {
            options.thumbnail = Thumbnail(
                .pixels(width: (rect.width + step - 1) / step, height: (rect.height + step - 1) / step), mode: .stretch)
        }
        let result = await DecodingQueue.run(priority: .high) { [options] cancellation in
            var options = options
            options.cancellation = cancellation
            return Result { () throws(WebImageError) in try source.codecs.decode(source.data, options: options).pixels }
        }
        return result ?? .failure(.cancelled)
    }

    private func didDecode(_ result: Result<PixelBuffer, WebImageError>, _ region: Region) {
        guard current?.region == region else { return }
        current = nil
        switch result {
        case .success(let pixels):
            arrival = Arrival(region: region, pixels: pixels, cells: region.cells[...])
            ticker.start()
        case .failure(.cancelled): break
        case .failure(let error): onFailure(error)
        }
        onChange()
    }

    /// Makes textures of some tiles, so that no frame has to wait for all.
    private func cutTiles() -> Bool {
        guard var arriving = arrival else { return false }
        do throws(WebImageError) {
            for cell in arriving.cells.prefix(Self.tilesPerFrame) { try addTile(cell, from: arriving) }
        } catch {
            arrival = nil
            onFailure(error)
            return false
        }
        arriving.cells = arriving.cells.dropFirst(Self.tilesPerFrame)
        arrival = arriving.cells.isEmpty ? nil : arriving
        releaseOldest()
        onChange()
        return arrival != nil
    }

    private func addTile(_ cell: TileGrid.Cell, from arrival: Arrival) throws(WebImageError) {
        let (grid, rect, step) = (arrival.region.grid, arrival.region.rect, arrival.region.grid.step)
        let key = Key(step: step, cell: cell)
        guard entries[key] == nil else { return }
        let wanted = grid.rect(of: cell, margin: step)
        let place = PixelRect(
            x: (wanted.x - rect.x) / step, y: (wanted.y - rect.y) / step, width: (wanted.width + step - 1) / step,
            height: (wanted.height + step - 1) / step)
        // A copy, so that a tile does not retain the region.
        guard let place = place.clamped(to: arrival.pixels.size) else { return }
        let pixels = try PixelBuffer(place, of: arrival.pixels).copied().freeze(isOpaque: arrival.pixels.isOpaque)
        let shown = PixelRect(
            x: rect.x + place.x * step, y: rect.y + place.y * step, width: place.width * step,
            height: place.height * step)
        let count = pixels.size.pixelByteCount
        entries[key] = Entry(tile: Tile(pixels, part: grid.part(shown)), byteCount: count, lastUse: drawCount)
        byteCount += count
    }

    private func releaseOldest() {
        guard byteCount > byteLimit else { return }
        for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            guard byteCount > byteLimit, entry.lastUse < drawCount else { return }
            entries[key] = nil
            byteCount -= entry.byteCount
        }
    }

    // MARK: Drawing

    /// Draws the tiles in sight.
    ///
    /// - Parameter drawRest: draws the whole image with fewer pixels; called where a tile is missing.
    func draw(
        into snapshot: OpaquePointer, _ geometry: ZoomGeometry, area: PointRect, unit: Double,
        drawRest: (_ place: PointRect) -> Void
    ) {
        drawCount += 1
        let grid = grid(geometry)
        for (cell, place) in grid.visibleCells(geometry, area: area, unit: unit) {
            if let tile = use(Key(step: grid.step, cell: cell)) {
                tile.draw(into: snapshot, geometry, place: place, area: area)
            } else {
                drawRest(place)
                drawOther(cell, of: grid, into: snapshot, geometry, place: place, area: area)
            }
        }
    }

    private func use(_ key: Key) -> Tile? {
        entries[key]?.lastUse = drawCount
        return entries[key]?.tile
    }

    /// Draws the tile of fewer pixels in which a missing one is, such as right after the user has zoomed in. A translucent one
    /// would be drawn over the rest.
    private func drawOther(
        _ cell: TileGrid.Cell, of grid: TileGrid, into snapshot: OpaquePointer, _ geometry: ZoomGeometry,
        place: PointRect, area: PointRect
    ) {
        for factor in [2, 4] {
            let other = TileGrid.Cell(column: cell.column / factor, row: cell.row / factor)
            guard let tile = use(Key(step: grid.step * factor, cell: other)), tile.isOpaque else { continue }
            return tile.draw(into: snapshot, geometry, place: place, area: area)
        }
    }
}
