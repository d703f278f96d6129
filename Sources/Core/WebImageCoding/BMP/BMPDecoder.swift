internal import FoundationEssentials
internal import WebImageCore

/// Decodes BMP: 1 to 32 bits a pixel, palettes, masks, runs of 4 and 8 bits, alpha and profiles of the later headers.
///
/// Pixels that runs skip have the first color of the palette. Alpha counts if any pixel has some.
struct BMPDecoder: StillDecoder {
    init() {}

    var format: ImageFormat { .bmp }

    func file(_ data: Data, page: Int?) throws(WebImageError) -> BMPFile {
        _ = try format.page(page, of: 1)
        return try BMPFile(data)
    }
}
