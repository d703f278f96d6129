internal import FoundationEssentials
internal import Glibc
internal import WebImage

/// An image that comes through standard input.
enum StandardInput {
    /// As errors call it.
    static let name = "standard input"

    /// A request for it, which no cache answers; it can be loaded once.
    static var request: WebImageRequest {
        var request = WebImageRequest(id: "stdin", isCacheable: false) { try await bytes() }
        request.cachePolicy = .reload
        return request
    }

    /// Reads it to its end, on a thread that may block.
    ///
    /// - Throws: ``WebImageError/file(path:errno:)``, for no bytes at all with `ENODATA`, for more than a file may have with
    ///   `EFBIG`.
    static func bytes() async throws(WebImageError) -> Data {
        try await BlockingWork.run { () throws(WebImageError) in
            var data = Data()
            var piece = [UInt8](repeating: 0, count: 1 << 20)
            while true {
                let count = read(STDIN_FILENO, &piece, piece.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    // Whoever shares it may have made it one that does not block.
                    var request = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                    poll(&request, 1, -1)
                    continue
                }
                guard count >= 0 else { throw .file(path: name, errno: errno) }
                guard count > 0 else { break }
                data.append(contentsOf: piece[..<count])
                guard data.count <= byteLimit else { throw .file(path: name, errno: EFBIG) }
            }
            guard !data.isEmpty else { throw .file(path: name, errno: ENODATA) }
            return data
        }
    }

    private static let byteLimit = FileLoader().maximumByteCount
}
