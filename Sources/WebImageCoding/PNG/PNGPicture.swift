/// What the pixels of one picture in a PNG are made of: the still, or a frame of an animation.
struct PNGPicture: Sendable {
    var layout: PNGLayout
    /// Red, green and blue of each index; empty unless the pixels are indices.
    var palette: [UInt8] = []
    /// The content of tRNS: an alpha for each index, or the one colour that is clear.
    var transparency: [UInt8] = []
    /// The chunks with its zlib stream, in their order; of the last, perhaps only the beginning.
    var chunks: [PNGChunk] = []

    /// Whether a pixel may be transparent.
    var hasAlpha: Bool { layout.colorType.hasAlpha || !transparency.isEmpty }
}
