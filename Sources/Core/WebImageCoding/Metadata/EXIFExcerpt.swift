internal import FoundationEssentials
internal import Glibc
internal import SystemText
internal import WebImageCore

/// A short file with the EXIF of a long one, made of the few parts that have to be read for it.
///
///     JPEG, PNG, others   the first 256 KiB
///     WebP                RIFF │ VP8X │ EXIF          without the pixels between them
///     AVIF, HEIC          ftyp │ mdat: EXIF │ meta    with an image without data
///
/// It has the format of the file, for ``CodecRegistry/metadata(of:limits:cancellation:)``. Nothing of EXIF itself is read here.
enum EXIFExcerpt {
    /// Reads a regular file. Blocks.
    ///
    /// - Parameter cancellation: stops the reading at the next chunk or box.
    /// - Throws: ``WebImageError/file(path:errno:)`` and ``WebImageError/cancelled``.
    static func read(
        _ file: SystemString, _ cancellation: Cancellation = Cancellation()
    ) throws(WebImageError) -> Data {
        // For errors.
        let path = file.description
        // Nonblocking, so that opening a pipe does not wait for a writer.
        let descriptor = file.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .file(path: path, errno: EOPNOTSUPP) }
        let source = Source(descriptor: descriptor, byteCount: Int(status.st_size))
        guard let start = source.bytes(at: 0, count: startByteCount) else {
            throw .file(path: path, errno: source.byteCount == 0 ? ENODATA : EIO)
        }
        guard start.count < source.byteCount else { return start }
        if start.bytes.hasText("RIFF", at: 0), start.bytes.hasText("WEBP", at: 8) {
            return try chunks(of: source, start, cancellation) ?? start
        }
        return start.bytes.hasText("ftyp", at: 4) ? try items(of: source, cancellation) ?? start : start
    }

    /// Where most formats have EXIF.
    private static let startByteCount = 256 << 10
    /// The longest EXIF that is read, and the longest tables of items.
    private static let partByteLimit = 4 << 20
    /// The maximum number of chunks that are skipped: an animation has one for each image.
    private static let chunkLimit = 65_536
    /// The maximum number of boxes that are read before the tables.
    private static let boxLimit = 256
    /// The longest box with the file's type, which lists a few brands.
    private static let fileTypeByteLimit = 4_096

    /// An open file.
    private struct Source {
        let descriptor: Int32
        let byteCount: Int

        /// Reads so many bytes, or fewer at the end; `nil` for none, and after an error.
        func bytes(at offset: Int, count: Int) -> Data? {
            guard offset < byteCount else { return nil }
            var bytes = Data(count: min(count, byteCount - offset))
            let length = bytes.withUnsafeMutableBytes { memory in
                (try? RegularFile.readAll(descriptor, at: Int64(offset), into: memory)) ?? 0
            }
            return length == 0 ? nil : bytes.prefix(length)
        }
    }

    /// Returns the header of a WebP and its EXIF; `nil` without.
    private static func chunks(
        of file: Source, _ start: Data, _ cancellation: Cancellation
    ) throws(WebImageError) -> Data? {
        let headerByteCount = 30
        guard start.bytes.hasText("VP8X", at: 12),
            start.bytes.integer(at: 16, count: 4, isBigEndian: false) == headerByteCount - 20
        else { return nil }
        var offset = headerByteCount
        for _ in 0..<chunkLimit {
            try cancellation.check()
            guard let header = file.bytes(at: offset, count: 8),
                let length = header.bytes.integer(at: 4, count: 4, isBigEndian: false)
            else { return nil }
            if header.bytes.hasText("EXIF", at: 0) {
                guard length <= partByteLimit, let chunk = file.bytes(at: offset, count: 8 + length) else { return nil }
                return start.prefix(headerByteCount) + chunk
            }
            offset += 8 + length + length % 2
        }
        return nil
    }

    /// Returns a file with the EXIF of the main image of an AVIF or HEIC; `nil` without.
    private static func items(of file: Source, _ cancellation: Cancellation) throws(WebImageError) -> Data? {
        var (offset, fileType) = (0, Data())
        for _ in 0..<boxLimit {
            try cancellation.check()
            guard let header = file.bytes(at: offset, count: 16),
                let box = Box.list(in: header.bytes, 0..<file.byteCount - offset).first
            else { return nil }
            let length = box.range.count
            if box.type == "ftyp" || box.type == "meta" {
                let isFileType = box.type == "ftyp"
                // The file's type is first, and there is one.
                guard isFileType == (offset == 0), box.isWhole,
                    length <= (isFileType ? fileTypeByteLimit : partByteLimit),
                    let bytes = file.bytes(at: offset, count: length), bytes.count == length
                else { return nil }
                if !isFileType {
                    let table = ItemTable(bytes.bytes, box.content, at: offset, ofFileOf: file.byteCount)
                    return table.flatMap { items($0, of: file, fileType: fileType) }
                }
                fileType = bytes
            }
            offset += length
        }
        return nil
    }

    private static func items(_ table: ItemTable, of file: Source, fileType: Data) -> Data? {
        guard !fileType.isEmpty, let image = table.mainImage, let type = table.items[image]?.type,
            let item = table.metadata(of: image, upTo: partByteLimit).first(where: { $0.type == "Exif" })
        else { return nil }
        var source = fileType
        for extent in item.extents {
            guard let bytes = file.bytes(at: extent.lowerBound, count: extent.count) else { return nil }
            source += bytes
        }
        return source.withUnsafeBytes { bytes in
            var writer = ItemFileWriter(bytes, fileType: 0..<fileType.count)
            let image = writer.addItem(type, isHidden: false)
            let exif = writer.addItem("Exif")
            _ = writer.setData([fileType.count..<bytes.count], of: exif)
            writer.addReference("cdsc", from: exif, to: [image])
            return Data(writer.finish(primary: image))
        }
    }
}
