internal import FoundationEssentials
internal import Glibc
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
        case .file(let path): try Self.read(path, atMost: .max)
        case .data(let data): data
        }
    }

    /// Width and height, upright; of a file, mostly without reading all of it.
    func size(_ registry: CodecRegistry) throws(WebImageError) -> PixelSize {
        // WebP has its orientation at the end, so that a probe's answer would be preliminary.
        if case .file(let path) = self, let probe = try registry.probe(Self.read(path, atMost: 64 << 10)),
            probe.format != .webp
        {
            return probe.size
        }
        return try registry.info(of: contents()).size
    }

    private static func read(_ path: String, atMost limit: Int) throws(WebImageError) -> Data {
        // O_NONBLOCK, should it be a pipe.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .file(path: path, errno: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EOPNOTSUPP)
        }
        let byteCount = min(limit, Int(status.st_size))
        var data = Data(count: byteCount)
        var count = 0
        while count < byteCount {
            let read = data.withUnsafeMutableBytes { bytes in
                Glibc.read(descriptor, bytes.baseAddress.map { $0 + count }, byteCount - count)
            }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw .file(path: path, errno: errno) }
            // It has shrunk.
            if read == 0 { break }
            count += read
        }
        return data.prefix(count)
    }
}
