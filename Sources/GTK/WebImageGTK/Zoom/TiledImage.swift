internal import WebImage

/// An image in memory that is drawn in tiles.
@MainActor final class TiledImage {
    let image: Image
    private let grid: TileGrid
    private var tiles: [TileGrid.Cell: Tile] = [:]

    init(_ image: Image) {
        self.image = image
        grid = TileGrid(size: image.pixels.size, side: 1_024)
    }

    /// Draws the tiles in sight, and releases the others. A tile is made while a frame is drawn, so its pixels are shared.
    func draw(into snapshot: OpaquePointer, _ geometry: ZoomGeometry, area: PointRect, unit: Double) {
        var visible: [TileGrid.Cell: Tile] = [:]
        for (cell, place) in grid.visibleCells(geometry, area: area, unit: unit) {
            let rect = grid.rect(of: cell, margin: 1)
            let tile = tiles[cell] ?? Tile(PixelBuffer(rect, of: image.pixels), part: grid.part(rect))
            tile.draw(into: snapshot, geometry, place: place, area: area)
            visible[cell] = tile
        }
        tiles = visible
    }
}
