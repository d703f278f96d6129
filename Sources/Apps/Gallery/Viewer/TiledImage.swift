import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A large image that is drawn in tiles, so that only the pixels in sight are copied or sent to the graphics card, and no
/// texture is larger than a card allows.
@MainActor final class TiledImage {
    let image: Image
    private var tiles: [Int: Tile] = [:]
    private let columns: Int
    private let rows: Int

    /// The side of a tile, in pixels.
    private static let side = 1_024

    private struct Tile {
        let texture: OpaquePointer
        /// The part of the image that the texture shows, in pixels.
        let source: PixelRect
    }

    init(_ image: Image) {
        self.image = image
        columns = (image.width + Self.side - 1) / Self.side
        rows = (image.height + Self.side - 1) / Self.side
    }

    isolated deinit { for tile in tiles.values { g_object_unref(ObjectPointer(tile.texture).address) } }

    /// Draws the tiles in sight.
    ///
    /// - Parameters:
    ///   - area: the area of the whole image, after its rotation.
    ///   - grid: the points of a device pixel. Tiles meet at device pixels, so that no seam is visible.
    func draw(into snapshot: OpaquePointer, _ geometry: ZoomGeometry, area: PointRect, grid: Double) {
        var visible: [Int: Tile] = [:]
        for index in 0..<(columns * rows) {
            let (x, y) = (index % columns * Self.side, index / columns * Self.side)
            let share = part(x, y, Self.side)
            let place = geometry.area(ofPart: share, in: area).snapped(to: grid)
            guard place.x < geometry.viewport.x, place.y < geometry.viewport.y, place.x + place.width > 0,
                place.y + place.height > 0
            else { continue }
            let tile = tiles.removeValue(forKey: index) ?? makeTile(x, y)
            visible[index] = tile
            var clip = graphene_rect_t(place)
            gtk_snapshot_push_clip(snapshot, &clip)
            let whole = geometry.area(ofPart: part(tile.source), in: area)
            snapshot.draw(in: whole, quarterTurns: geometry.quarterTurns) { width, height in
                var rect = graphene_rect_t(PointRect(x: 0, y: 0, width: width, height: height))
                gtk_snapshot_append_texture(snapshot, tile.texture, &rect)
            }
            gtk_snapshot_pop(snapshot)
        }
        for tile in tiles.values { g_object_unref(ObjectPointer(tile.texture).address) }
        tiles = visible
    }

    private func part(_ x: Int, _ y: Int, _ side: Int) -> PointRect {
        part(PixelRect(x: x, y: y, width: min(side, image.width - x), height: min(side, image.height - y)))
    }

    private func part(_ rect: PixelRect) -> PointRect {
        let (width, height) = (Double(image.width), Double(image.height))
        return PointRect(
            x: Double(rect.x) / width, y: Double(rect.y) / height, width: Double(rect.width) / width,
            height: Double(rect.height) / height)
    }

    /// Returns a tile with a pixel more on each side, which the filter needs at its edges.
    private func makeTile(_ x: Int, _ y: Int) -> Tile {
        let (left, top) = (max(0, x - 1), max(0, y - 1))
        let source = PixelRect(
            x: left, y: top, width: min(x + Self.side + 1, image.width) - left,
            height: min(y + Self.side + 1, image.height) - top)
        // The pixels are shared: a tile is made while a frame is drawn.
        return Tile(texture: Image(pixels: PixelBuffer(source, of: image.pixels)).makeTexture(), source: source)
    }
}

extension PointRect {
    /// The rectangle with its edges on multiples of `grid`.
    func snapped(to grid: Double) -> PointRect {
        func snap(_ position: Double) -> Double { (position / grid).rounded() * grid }
        let (left, top) = (snap(x), snap(y))
        return PointRect(x: left, y: top, width: snap(x + width) - left, height: snap(y + height) - top)
    }
}

extension graphene_rect_t {
    init(_ rect: PointRect) {
        self.init(
            origin: graphene_point_t(x: Float(rect.x), y: Float(rect.y)),
            size: graphene_size_t(width: Float(rect.width), height: Float(rect.height)))
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
