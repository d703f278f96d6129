internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import SystemText
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
        let task = ReplaceableTask(priority: priority)
        task.start { _ in
            // The look-up follows links, so it is made where reading may wait. It runs also when it is cancelled, so that the load has an
            // end, which the next task reports.
            Self.queue.async { [self] in
                let url = file(relative)
                task.end()
                guard let url else { return handler(.finished(.failure(.file(path: relative, errno: ENOENT)))) }
                var request = request
                request.url = url
                task.start { priority in
                    files.load(request, priority: priority) { event in
                        if case .finished = event { task.end() }
                        handler(event)
                    }
                }
            }
            return LookUp()
        }
        return task
    }

    private struct LookUp: LoaderTask {
        func cancel() {}
        func setPriority(_ priority: LoadPriority) {}
    }

    /// Returns a file of the folder; `nil` if there is none.
    private func file(_ relative: String) -> URL? {
        // Absolute and without links; it may have been mounted since the start. That of "/" ends with its slash.
        guard let folder = Self.realPath(folder), let path = Self.realPath(folder + "/" + relative),
            path.hasPrefix(folder == "/" ? folder : folder + "/")
        else { return nil }
        return SystemString(path).fileURL
    }

    private static let queue = DispatchQueue(label: "webimage-local")

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
