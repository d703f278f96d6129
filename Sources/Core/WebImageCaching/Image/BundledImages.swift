internal import FoundationEssentials
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// Read-only image files of a program, for images that its disk cache does not have.
///
/// The files are never written, moved or counted.
struct BundledImages: Sendable {
    /// Returns the path of the file that may contain the bytes for a key; `nil` if there is none. The file need not
    /// exist.
    let path: @Sendable (ImageCacheKey) -> String?

    /// Creates bundled images from a closure that returns paths. The closure is called for each query that is not
    /// answered by memory or disk, on a thread of the library or of a blocking caller.
    init(path: @escaping @Sendable (_ key: ImageCacheKey) -> String?) { self.path = path }

    /// The files in `directory`, in the layout of `wget --force-directories`: the file for
    /// `https://example.org/icons/home.png` is `example.org/icons/home.png`. A source that is not a URL, such as
    /// `avatars/3.png`, is used as the path. Only originals are found, and no files outside the directory.
    static func directory(_ directory: URL) -> BundledImages {
        let root = directory.path(percentEncoded: false)
        return BundledImages { key in
            guard key.variant == nil, let path = relativePath(for: key.source) else { return nil }
            return root.hasSuffix("/") ? root + path : "\(root)/\(path)"
        }
    }

    /// Returns a relative path; `nil` if the source cannot be a path below a directory.
    static func relativePath(for source: String) -> String? {
        var path = source
        if let url = URL(string: source), url.scheme != nil {
            guard let host = url.host() else { return nil }
            path = host + (url.port.map { ":\($0)" } ?? "") + url.path(percentEncoded: false)
            if let query = url.query() { path += "?\(query)" }
        }
        let names = path.split(separator: "/", omittingEmptySubsequences: false)
        return names.allSatisfy { !["", ".", ".."].contains($0) && !$0.utf8.contains(0) } ? path : nil
    }

    /// The maximum file size, in bytes. Longer files are ignored.
    static let byteLimit = 256 << 20

    /// Returns the bytes of a file; `nil` if it does not exist, is not a regular file, or is longer than ``byteLimit``.
    /// Blocks.
    static func read(_ path: String) -> Data? {
        isFile(path) ? try? Data(contentsOfFile: path, upTo: byteLimit) : nil
    }

    /// Whether there is a regular file that is not too long. Blocks.
    static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size <= byteLimit
    }

    /// The queue on which queries read the files.
    static let queue = WorkQueue(label: "webimage-bundle", threadCount: 1)
}
