internal import CWebImageGObject
internal import CWebImageGTK
internal import FoundationEssentials
internal import WebImage

/// The handlers of C code.
///
/// Unchecked, because the functions may be called on any thread.
final class SessionHook: @unchecked Sendable {
    private let hook: WebImageBridgeHook

    /// Owns the data of `hook`.
    init(_ hook: WebImageBridgeHook) { self.hook = hook }

    deinit { hook.release_data(hook.data) }

    /// Whether there is a handler for a scheme.
    func wants(_ scheme: String) -> Bool { hook.wants(hook.data, scheme) != 0 }

    /// Offers a load to the handlers, later.
    func offer(_ offer: Offer, _ url: URL) {
        offer.didBegin(Cancellable(owning: hook.offer(hook.data, offer.retainedHandle, url.absoluteString)))
    }

    /// Tells a handler that nothing waits for the load any more.
    func cancel(_ cancellable: Cancellable) { hook.cancel(cancellable.pointer) }
}

/// Offers loads to handlers of C code, and has other loaders load what they decline.
struct SessionLoader: ImageLoader {
    private let hook: SessionHook
    private let others: [any ImageLoader]

    /// - Parameter others: the loaders of the session; later ones take precedence.
    init(_ hook: SessionHook, others: [any ImageLoader]) {
        self.hook = hook
        self.others = others
    }

    func canLoad(_ url: URL) -> Bool { url.scheme.map(hook.wants) ?? false }

    /// A handler decides it for what it answers.
    func isCacheable(_ url: URL) -> Bool { other(for: url)?.isCacheable(url) ?? true }

    private func other(for url: URL) -> (any ImageLoader)? { others.last { $0.canLoad(url) } }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let offer = Offer(request, priority: priority, other: other(for: request.url), hook: hook, handler: handler)
        hook.offer(offer, request.url)
        return offer
    }
}

/// A `GCancellable`, which any thread may use and release.
final class Cancellable: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<GCancellable>

    init(owning pointer: UnsafeMutablePointer<GCancellable>) { self.pointer = pointer }

    deinit { g_object_unref(pointer) }
}
