import Foundation
import Synchronization
import WebImage

/// A custom loader for images in tar archives: `tar:///home/ada/album.tar?beach.jpg`.
struct ArchiveLoader: ImageLoader {
    func canLoad(_ url: URL) -> Bool { url.scheme == "tar" }

    // The archive is on the disk already.
    func isCacheable(_ url: URL) -> Bool { false }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let task = ArchiveTask()
        // Reading may block, and `load` must return at once.
        DispatchQueue.global().async {
            let result = Result { () throws(WebImageError) in
                let data = try Archive(path: request.url.path).data(
                    of: request.url.query()?.removingPercentEncoding ?? "")
                if task.isCancelled { throw .cancelled }
                handler(.response(LoaderResponse(url: request.url, expectedByteCount: Int64(data.count))))
                handler(.bytes(data))
            }
            // The last event, exactly once.
            handler(.finished(result))
        }
        return task
    }
}

private final class ArchiveTask: LoaderTask {
    private let flag = Atomic(false)

    var isCancelled: Bool { flag.load(ordering: .relaxed) }

    func cancel() { flag.store(true, ordering: .relaxed) }
}
