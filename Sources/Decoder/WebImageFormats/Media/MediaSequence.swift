internal import WebImageCoding
internal import WebImageCore

/// An AVIF sequence, of which the library sees nothing but the tracks of images.
///
/// Other boxes (sound, the items of the still image) are renamed in a copy, so that all offsets remain.
struct MediaSequence {
    let bytes: [UInt8]

    /// `nil` for a file that counts as a still image: it has no track of images, or says that the still image is the
    /// main content.
    init?(
        _ source: UnsafeRawBufferPointer, limits: DecodingLimits, hasMetadata: Bool
    ) throws(WebImageError) {
        let bytes = source.bytes
        let boxes = Box.list(in: bytes, 0..<source.count)
        guard let movie = Self.movie(in: bytes, boxes) else { return nil }
        let children = Box.list(in: bytes, movie.content)
        let tracks = children.filter { $0.type == "trak" }.compactMap { Track($0, in: bytes) }
        guard let color = tracks.first(where: { !$0.isAuxiliary }) else { return nil }
        // And its alpha.
        let used = [color] + tracks.filter { $0.isAuxiliary }.prefix(1)
        for track in used { try limits.check(track.size) }
        var unused = boxes.filter { $0.type == "moov" && $0.range != movie.range }
        // libavif looks for the box of the still image, which may be empty but for its first part.
        for box in boxes where box.type == "meta" && box.content.count >= 4 {
            unused += Box.list(in: bytes, box.content.lowerBound + 4..<box.content.upperBound)
                .filter { $0.type != "hdlr" }
        }
        unused += children.filter { box in
            box.type == "meta" || box.type == "trak" && !used.contains { $0.range == box.range }
        }
        // Metadata is small, or not read.
        unused += used.compactMap(\.items).filter { box in
            !hasMetadata || Self.dataByteCount(of: box, in: bytes) > limits.metadataByteCount
        }
        var copy = [UInt8](source)
        for box in unused {
            copy.replaceSubrange(box.range.lowerBound + 4..<box.range.lowerBound + 8, with: "free".utf8)
        }
        self.bytes = copy
    }

    /// Returns the box with the tracks, unless the still image is the main content.
    static func movie(in bytes: RawSpan, _ boxes: [Box]) -> Box? {
        guard bytes.hasText("ftyp", at: 4), !bytes.hasText("avif", at: 8) else { return nil }
        return boxes.first { $0.type == "moov" }
    }

    private static func dataByteCount(of box: Box, in bytes: RawSpan) -> Int {
        guard let table = ItemTable(bytes, box.content) else { return 0 }
        return table.items.values.reduce(0) { sum, item in item.extents.reduce(sum) { $0 + $1.count } }
    }

    private struct Track {
        let range: Range<Int>
        let isAuxiliary: Bool
        let size: PixelSize
        /// The box with metadata.
        let items: Box?

        /// `nil` for a track without AV1.
        init?(_ box: Box, in bytes: RawSpan) {
            guard let media = Box.find("mdia", in: bytes, box.content),
                let handler = Box.find("hdlr", in: bytes, media.content),
                let table = Box.find("minf", in: bytes, media.content)
                    .flatMap({ Box.find("stbl", in: bytes, $0.content) }),
                let entries = Box.find("stsd", in: bytes, table.content)?.content
            else { return nil }
            let start = entries.lowerBound + 8
            guard bytes.hasText("av01", at: start + 4), start + 86 <= entries.upperBound,
                let width = bytes.number(at: start + 32, 2), let height = bytes.number(at: start + 34, 2), width > 0,
                height > 0
            else { return nil }
            size = PixelSize(width: width, height: height)
            isAuxiliary = bytes.hasText("auxv", at: handler.content.lowerBound + 8)
            items = Box.find("meta", in: bytes, box.content)
            range = box.range
        }
    }
}
