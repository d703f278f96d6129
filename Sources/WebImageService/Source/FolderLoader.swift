internal import FoundationEssentials
internal import Glibc
internal import WebImageCore
internal import WebImageLoading

/// Loads `local:` sources from a folder: `local:///photos/a.jpg` is the file `photos/a.jpg` in it.
///
/// Symbolic links are followed within the folder only.
final class FolderLoader: ImageLoader {
    private let folder: String
    private let files: FileLoader

    init(_ folder: URL, maximumByteCount: Int) {
        self.folder = folder.path(percentEncoded: false)
        files = FileLoader(maximumByteCount: Int64(maximumByteCount))
    }

    func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == "local" }
    func isCacheable(_ url: URL) -> Bool { false }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let relative = (request.url.host() ?? "") + request.url.path(percentEncoded: false)
        // The look-up follows links, so it is made where reading may wait.
        return Self.queue.run(priority: priority) { [self] cancellation in
            // Absolute and without links; it may have been mounted since the start. That of "/" ends with its slash.
            guard let folder = Self.realPath(folder), let path = Self.realPath(folder + "/" + relative),
                path.hasPrefix(folder == "/" ? folder : folder + "/")
            else {
                return handler(.finished(.failure(.file(path: relative, errno: ENOENT))))
            }
            if cancellation.isCancelled { return handler(.finished(.failure(.cancelled))) }
            var request = request
            request.url = ByteString(path).fileURL
            _ = files.load(request, priority: priority, handler: handler)
        }
    }

    private static let queue = WorkQueue(label: "webimage-local", threadCount: 1)

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
