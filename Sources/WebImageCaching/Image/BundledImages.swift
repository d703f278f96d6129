public import FoundationEssentials
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// Read-only files with pictures that a program brings along, for what its disk cache does not have.
///
/// They are never written, moved or counted.
public struct BundledImages: Sendable {
    /// The file that may hold the bytes for a key; `nil` when there is none. A file that is missing is as good as none.
    let path: @Sendable (ImageCacheKey) -> String?

    /// Files named by a closure, which is called for each query that comes so far, on a thread of the library or of a caller
    /// that blocks.
    public init(path: @escaping @Sendable (_ key: ImageCacheKey) -> String?) { self.path = path }

    /// The files in `directory`, laid out as `wget --force-directories` does: those of
    /// `https://example.org/icons/home.png` lie in `example.org/icons/home.png`. A source that is no URL, such as
    /// `avatars/3.png`, is a path itself. There are originals only, and no file outside the directory.
    public static func directory(_ directory: URL) -> BundledImages {
        let root = directory.path(percentEncoded: false)
        return BundledImages { key in
            guard key.variant == nil, let path = relativePath(for: key.source) else { return nil }
            return root.hasSuffix("/") ? root + path : "\(root)/\(path)"
        }
    }

    /// `nil` for what is no path below a directory.
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

    /// Longer files are no pictures that anybody brings along.
    static let byteLimit = 256 << 20

    /// The bytes of a file; `nil` when there is none, or it is no plain file, or longer than ``byteLimit``. Blocks.
    static func read(_ path: String) -> Data? {
        isFile(path) ? try? Data(contentsOfRegularFile: path, upTo: byteLimit) : nil
    }

    /// Whether there is a plain file that is not too long. Blocks.
    static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size <= byteLimit
    }

    /// Where queries read them.
    static let queue = WorkQueue(label: "webimage-bundle", threadCount: 1)
}
