internal import CWebImageGTK
internal import GTKObjects
internal import WebImage

/// The squares of a large image that are drawn one by one, so that only the pixels in sight are copied or sent to the
/// graphics card, and no texture is larger than a card allows.
struct TileGrid: Equatable {
    /// The size of the image, in pixels.
    let size: PixelSize
    /// The side of a tile, in pixels of its texture.
    let side: Int
    /// The pixels of the image, in each direction, for a pixel of a texture: 1, 2, 4 and so on.
    var step = 1

    struct Cell: Hashable {
        var column: Int
        var row: Int
    }

    /// The side of a tile, in pixels of the image.
    private var length: Int { side * step }
    var columnCount: Int { (size.width + length - 1) / length }
    var rowCount: Int { (size.height + length - 1) / length }

    /// Returns the pixels of a rectangle of cells, and `margin` more on each side.
    func rect(columns: ClosedRange<Int>, rows: ClosedRange<Int>, margin: Int = 0) -> PixelRect {
        let (left, top) = (max(0, columns.lowerBound * length - margin), max(0, rows.lowerBound * length - margin))
        return PixelRect(
            x: left, y: top, width: min((columns.upperBound + 1) * length + margin, size.width) - left,
            height: min((rows.upperBound + 1) * length + margin, size.height) - top)
    }

    func rect(of cell: Cell, margin: Int = 0) -> PixelRect {
        rect(columns: cell.column...cell.column, rows: cell.row...cell.row, margin: margin)
    }

    /// Returns a rectangle in fractions of the image.
    func part(_ rect: PixelRect) -> PointRect {
        let (width, height) = (Double(size.width), Double(size.height))
        return PointRect(
            x: Double(rect.x) / width, y: Double(rect.y) / height, width: Double(rect.width) / width,
            height: Double(rect.height) / height)
    }

    /// Returns the cells in sight and their areas.
    ///
    /// - Parameters:
    ///   - area: the area of the whole image, after its rotation.
    ///   - unit: the points of a device pixel. Tiles meet at device pixels, so that no seam is visible.
    func visibleCells(
        _ geometry: ZoomGeometry, area: PointRect, unit: Double
    ) -> [(cell: Cell, place: PointRect)] {
        func place(_ rect: PixelRect) -> PointRect { geometry.area(ofPart: part(rect), in: area).snapped(to: unit) }
        func isInSight(_ columns: ClosedRange<Int>, _ rows: ClosedRange<Int>) -> Bool {
            let place = place(rect(columns: columns, rows: rows))
            return place.x < geometry.viewport.x && place.y < geometry.viewport.y && place.x + place.width > 0
                && place.y + place.height > 0
        }
        // A cell is in sight if its column and its row are, however the image is turned.
        let columns = (0..<columnCount).filter { isInSight($0...$0, 0...rowCount - 1) }
        let rows = (0..<rowCount).filter { isInSight(0...columnCount - 1, $0...$0) }
        return rows.flatMap { row in
            columns.map { column in
                let cell = Cell(column: column, row: row)
                return (cell, place(rect(of: cell)))
            }
        }
    }
}

/// The texture of a tile.
@MainActor struct Tile {
    let texture: ObjectReference
    /// The part of the image that the texture shows, a pixel more on each side than the tile, which the filter needs at its
    /// edges; in fractions of the image.
    let part: PointRect
    let isOpaque: Bool

    /// - Parameter pixels: shared, not copied.
    init(_ pixels: PixelBuffer, part: PointRect) {
        texture = ObjectReference(owning: ObjectPointer(Image(pixels: pixels).makeTexture()))
        self.part = part
        isOpaque = pixels.isOpaque
    }

    /// Draws the tile.
    ///
    /// - Parameters:
    ///   - place: the area to draw in.
    ///   - area: the area of the whole image, after its rotation.
    func draw(into snapshot: OpaquePointer, _ geometry: ZoomGeometry, place: PointRect, area: PointRect) {
        var clip = graphene_rect_t(place)
        gtk_snapshot_push_clip(snapshot, &clip)
        let whole = geometry.area(ofPart: part, in: area)
        snapshot.draw(in: whole, quarterTurns: geometry.quarterTurns) { width, height in
            var rect = graphene_rect_t(width: width, height: height)
            gtk_snapshot_append_texture(snapshot, texture.pointer.opaque, &rect)
        }
        gtk_snapshot_pop(snapshot)
    }
}

extension PointRect {
    /// The rectangle with its edges on multiples of `unit`.
    func snapped(to unit: Double) -> PointRect {
        func snap(_ position: Double) -> Double { (position / unit).rounded() * unit }
        let (left, top) = (snap(x), snap(y))
        return PointRect(x: left, y: top, width: snap(x + width) - left, height: snap(y + height) - top)
    }
}

@MainActor extension OpaquePointer {
    /// Draws into a snapshot, rotated.
    ///
    /// - Parameters:
    ///   - area: the area after the rotation.
    ///   - body: gets the size before the rotation, and draws from the corner 0, 0.
    func draw(in area: PointRect, quarterTurns: Int, _ body: (_ width: Double, _ height: Double) -> Void) {
        let isTurned = quarterTurns % 2 == 1
        let (width, height) = isTurned ? (area.height, area.width) : (area.width, area.height)
        gtk_snapshot_save(self)
        var middle = graphene_point_t(x: Float(area.x + area.width / 2), y: Float(area.y + area.height / 2))
        gtk_snapshot_translate(self, &middle)
        if quarterTurns != 0 { gtk_snapshot_rotate(self, Float(quarterTurns * 90)) }
        var corner = graphene_point_t(x: Float(-width / 2), y: Float(-height / 2))
        gtk_snapshot_translate(self, &corner)
        body(width, height)
        gtk_snapshot_restore(self)
    }
}
