internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// A picture in a file or in memory, not yet decoded.
enum EncodedPicture: Sendable {
    case file(String)
    case data(Data)

    /// The memory it keeps, in bytes.
    var byteCount: Int {
        switch self {
        case .file: 0
        case .data(let data): data.count
        }
    }

    /// All of it.
    func contents() throws(WebImageError) -> Data {
        switch self {
        case .file(let path): try Data(contentsOfRegularFile: path)
        case .data(let data): data
        }
    }

    /// Width and height, upright; of a file, mostly without reading all of it.
    func size(_ registry: CodecRegistry) throws(WebImageError) -> PixelSize {
        // WebP has its orientation at the end, so that a probe's answer would be preliminary.
        if case .file(let path) = self,
            let probe = try registry.probe(Data(contentsOfRegularFile: path, upTo: 64 << 10)),
            probe.format != .webp
        {
            return probe.size
        }
        return try registry.info(of: contents()).size
    }
}
