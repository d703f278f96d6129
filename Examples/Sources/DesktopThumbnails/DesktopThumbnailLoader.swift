import Foundation
import Synchronization
import WebImage

/// Loads `thumbnail:///path/of/file`: the desktop's thumbnail of a local file, or the file itself if there is no current
/// thumbnail.
final class DesktopThumbnailLoader: ImageLoader {
    private let store: DesktopThumbnails
    private let files = FileLoader()
    // Reading the disk may block; `load` must return at once.
    private let queue = DispatchQueue(label: "desktop-thumbnails", attributes: .concurrent)

    init(store: DesktopThumbnails) { self.store = store }

    func canLoad(_ url: URL) -> Bool { url.scheme == "thumbnail" }

    func isCacheable(_ url: URL) -> Bool { false }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let task = Task(priority: priority)
        queue.async { [self] in
            let path = request.url.path
            let source = URL(fileURLWithPath: store.thumbnail(of: path) ?? path)
            task.begin { priority in files.load(LoaderRequest(url: source), priority: priority, handler: handler) }
        }
        return task
    }

    /// Forwards to the file loader's task once it exists. That task also reports the end of a load that was cancelled before.
    private final class Task: LoaderTask {
        private struct State {
            var priority: LoadPriority
            var isCancelled = false
            var step: (any LoaderTask)?
        }

        private let state: Mutex<State>

        init(priority: LoadPriority) { state = Mutex(State(priority: priority)) }

        func begin(_ start: (LoadPriority) -> any LoaderTask) {
            let step = start(state.withLock { $0.priority })
            let (isCancelled, priority) = state.withLock { state in
                state.step = step
                return (state.isCancelled, state.priority)
            }
            step.setPriority(priority)
            if isCancelled { step.cancel() }
        }

        func cancel() {
            let step = state.withLock { state in
                state.isCancelled = true
                return state.step
            }
            step?.cancel()
        }

        func setPriority(_ priority: LoadPriority) {
            let step = state.withLock { state in
                state.priority = priority
                return state.step
            }
            step?.setPriority(priority)
        }
    }
}
