internal import FoundationEssentials
internal import GTKObjects
internal import WebImage

/// Tiles of an image that is too large for memory, decoded from its file where they are in sight.
///
///     cells in sight ──► one region around those that are missing ──► decoding thread ──► tiles, a few for each frame
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
    }

    /// The pixels of a tile, cut from those of a region.
    private struct Piece: Sendable {
        let cell: TileGrid.Cell
        let part: PointRect
        let pixels: PixelBuffer
    }

    private let source: Source
    /// The maximum memory of the tiles, in bytes. Those in sight stay nevertheless.
    private let byteLimit: Int
    private var entries: [Key: Entry] = [:]
    private(set) var byteCount = 0
    private var drawCount = 0
    private var current: (region: Region, task: Task<Void, Never>)?
    /// Tiles that have been decoded and are not drawn yet.
    private var arrivals: [(step: Int, piece: Piece)] = []
    private lazy var ticker = FrameTicker(host: host) { [weak self] _ in self?.takeArrivals() ?? false }
    private weak var host: ViewHost?

    /// Called when there are more tiles to draw.
    var onChange: () -> Void = {}
    /// Called when tiles cannot be decoded.
    var onFailure: (WebImageError) -> Void = { _ in }

    private static let side = 512
    /// The graphics card gets a megabyte for each, within a frame.
    private static let arrivalsPerFrame = 8

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
    var isBusy: Bool { current != nil || !arrivals.isEmpty }

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
        let arriving = Set(arrivals.lazy.filter { $0.step == grid.step }.map(\.piece.cell))
        let missing = visible.filter { entries[Key(step: grid.step, cell: $0)] == nil && !arriving.contains($0) }
        guard !missing.isEmpty else { return }
        if let current, current.region.grid == grid, missing.allSatisfy(current.region.contains) { return }
        current?.task.cancel()
        let region = region(around: missing, of: grid)
        current = (
            region,
            Task { [weak self, source] in
                let result = await Self.pieces(of: region, from: source)
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

    private nonisolated static func pieces(
        of region: Region, from source: Source
    ) async -> Result<[Piece], WebImageError> {
        let result = await DecodingQueue.run(priority: .high) { cancellation in
            Result { () throws(WebImageError) in try pieces(of: region, from: source, cancellation) }
        }
        return result ?? .failure(.cancelled)
    }

    private nonisolated static func pieces(
        of region: Region, from source: Source, _ cancellation: Cancellation
    ) throws(WebImageError) -> [Piece] {
        let (rect, step) = (region.rect, region.grid.step)
        var options = DecodingOptions(firstFrameOnly: true, limits: source.limits, cancellation: cancellation)
        options.region = rect
        if step > 1 {
            options.thumbnail = Thumbnail(
                .pixels(width: (rect.width + step - 1) / step, height: (rect.height + step - 1) / step), mode: .stretch)
        }
        let pixels = try source.codecs.decode(source.data, options: options).pixels
        var pieces: [Piece] = []
        for row in region.rows {
            for column in region.columns {
                let cell = TileGrid.Cell(column: column, row: row)
                let wanted = region.grid.rect(of: cell, margin: step)
                let place = PixelRect(
                    x: (wanted.x - rect.x) / step, y: (wanted.y - rect.y) / step,
                    width: (wanted.width + step - 1) / step, height: (wanted.height + step - 1) / step)
                // A copy, so that a tile does not retain the others.
                guard let place = place.clamped(to: pixels.size),
                    let copy = try? PixelBuffer(place, of: pixels).copied().freeze(isOpaque: pixels.isOpaque)
                else { continue }
                let shown = PixelRect(
                    x: rect.x + place.x * step, y: rect.y + place.y * step, width: place.width * step,
                    height: place.height * step)
                pieces.append(Piece(cell: cell, part: region.grid.part(shown), pixels: copy))
            }
        }
        return pieces
    }

    private func didDecode(_ result: Result<[Piece], WebImageError>, _ region: Region) {
        guard current?.region == region else { return }
        current = nil
        switch result {
        case .success(let pieces):
            arrivals = pieces.map { (region.grid.step, $0) }
            ticker.start()
        case .failure(.cancelled): break
        case .failure(let error): onFailure(error)
        }
        onChange()
    }

    /// Makes textures of some tiles, so that no frame has to wait for all.
    private func takeArrivals() -> Bool {
        for (step, piece) in arrivals.prefix(Self.arrivalsPerFrame) {
            let key = Key(step: step, cell: piece.cell)
            guard entries[key] == nil else { continue }
            let count = piece.pixels.size.pixelCount * 4
            entries[key] = Entry(tile: Tile(piece.pixels, part: piece.part), byteCount: count, lastUse: drawCount)
            byteCount += count
        }
        arrivals.removeFirst(min(arrivals.count, Self.arrivalsPerFrame))
        releaseOldest()
        onChange()
        return !arrivals.isEmpty
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
