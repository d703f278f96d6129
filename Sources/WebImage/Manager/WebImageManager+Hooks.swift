public import FoundationEssentials
public import WebImageCore

extension WebImageManager {
    /// Told of an end.
    typealias FinishHook =
        @Sendable (_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) -> Void

    /// What a program may decide on the way of a load, and learn about it.
    ///
    ///     load ─► memory, disk ─► shouldLoad ─► loader ─► decode ─► processors ─► willCache ─► end ─► didFinish
    ///                                                                                   └ failed ─► shouldBlock
    ///
    /// Each runs on the thread named with it, never under a lock.
    public struct Hooks: Sendable {
        /// Returns whether a loader may be asked, once memory and disk have missed; `false` ends the load with
        /// ``WebImageError/requestRefused(url:)``, or with a stored answer that may be served without the server.
        ///
        /// A request that joins a transfer in progress gets its result. The hook is asked about
        /// ``WebImageRequest/lowResolutionURL`` as about any URL. It runs on the thread that asks the loader, and must return
        /// quickly.
        public var shouldLoad: (@Sendable (WebImageRequest) -> Bool)?

        /// What memory keeps of a picture that is ready; `nil` for nothing. It may drop what a program does not need, such as
        /// the frames of an animation, not make another picture of it: that is for processors, which cache keys
        /// name. On a thread for decoding, or with ``WebImageOptions/queryDiskSync`` on the thread that asks.
        public var willCache: (@Sendable (_ image: Image, _ request: WebImageRequest) -> Image?)?

        /// Whether a URL that failed goes on the block list; asked for requests with ``WebImageOptions/ignoreFailedURL`` alone. By
        /// default ``WebImageError/isLasting`` decides. On the thread of the failure.
        public var shouldBlock: (@Sendable (_ url: URL, _ error: WebImageError) -> Bool)?

        /// Told of every end, right before the completion and on its queue. The response has the transfer's
        /// ``WebImageResponse/metrics``.
        public var didFinish:
            (@Sendable (_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) -> Void)?

        /// Asks for time to go on, for a load with ``WebImageOptions/continueInBackground``; gives what ends the permission,
        /// called once when the load has ended. `onExpiration` cancels the load. On the thread that asks.
        ///
        /// Without a hook, `WebImageGTK` holds the `GApplication`; elsewhere the option changes nothing then, since a process
        /// on Linux goes on in the background anyway. A program may rather take an inhibitor lock of the session.
        public var beginBackgroundTask:
            (@Sendable (_ onExpiration: @escaping @Sendable () -> Void) -> (@Sendable () -> Void))?

        /// ``beginBackgroundTask`` of managers that have none: a toolkit sets it, before anything loads.
        package static let standardBackgroundTask = Lock<
            (@Sendable (_ onExpiration: @escaping @Sendable () -> Void) -> (@Sendable () -> Void))?
        >(nil)

        /// Makes hooks that leave everything as it is.
        public init() {}
    }
}
