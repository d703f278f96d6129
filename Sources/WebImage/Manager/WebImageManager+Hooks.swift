public import FoundationEssentials
public import WebImageCore

extension WebImageManager {
    /// Called when a load ends.
    typealias FinishHook =
        @Sendable (_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) -> Void

    /// Closures that decide about a load or observe it.
    ///
    ///     load ─► memory, disk ─► shouldLoad ─► loader ─► decode ─► processors ─► willCache ─► end ─► didFinish
    ///                                                                                   └ failed ─► shouldBlock
    ///
    /// Each runs on the thread that its documentation names, never under a lock.
    public struct Hooks: Sendable {
        /// Returns whether a loader may be asked, once memory and disk have missed; `false` ends the load with
        /// ``WebImageError/BlockReason/hook``, or with a stored answer that may be served without the server.
        ///
        /// A request that joins a transfer in progress gets its result. The hook is asked about
        /// ``WebImageRequest/lowResolutionURL`` as about any URL. It runs on the thread that asks the loader, and must return
        /// quickly.
        public var shouldLoad: (@Sendable (WebImageRequest) -> Bool)?

        /// Returns what memory stores of a finished image; `nil` for nothing.
        ///
        /// It may drop what the program does not need, such as the frames of an animation. It must not make a different image;
        /// that is for processors, which are part of cache keys. It runs on a decoding thread, or on the calling thread with
        /// ``WebImageOptions/queryDiskSync``.
        public var willCache: (@Sendable (_ image: Image, _ request: WebImageRequest) -> Image?)?

        /// Returns whether a URL that failed goes on the block list. It is called only for requests with
        /// ``WebImageRequest/ignoresFailedURLs``, on the thread of the failure.
        ///
        /// By default, URLs with ``WebImageError/isLasting`` errors are blocked, except after 401 and 407, and after errors
        /// that depend on the request's own limits or codecs.
        public var shouldBlock: (@Sendable (_ url: URL, _ error: WebImageError) -> Bool)?

        /// Called at every end, right before the completion and on its queue. The response has the transfer's
        /// ``WebImageResponse/metrics``.
        public var didFinish:
            (@Sendable (_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) -> Void)?

        /// Asks for time to continue in the background, for a load with ``WebImageOptions/continueInBackground``. Returns a
        /// closure that is called once when the load has ended. `onExpiration` cancels the load. The hook runs on the calling
        /// thread.
        ///
        /// Without a hook, `WebImageGTK` holds the `GApplication`. Elsewhere the option then has no effect, since a process on
        /// Linux continues in the background anyway. A program can take an inhibitor lock of the session instead.
        public var beginBackgroundTask:
            (@Sendable (_ onExpiration: @escaping @Sendable () -> Void) -> (@Sendable () -> Void))?

        /// The default for ``beginBackgroundTask``. A toolkit sets it before the first load.
        package static let standardBackgroundTask = Lock<
            (@Sendable (_ onExpiration: @escaping @Sendable () -> Void) -> (@Sendable () -> Void))?
        >(nil)

    }
}
