internal import WebImageCore

/// Tells a loader with a cache of its own whether a body is an image, so that it stores only images. The loader sends it with
/// ``LoaderReport/judged(by:)``, right before the end of the load.
///
///     decoded completely ──► accept ──► image
///     not decodable ───────► reject ──► noImage ─┐ with the last reference: another load of the same
///     neither, as after a cancellation ► unknown ┘ bytes may have other limits, and accept them
public final class BodyJudgment: Sendable {
    /// The result of decoding.
    public enum Verdict: Sendable {
        /// The body was decoded completely.
        case image
        /// It cannot be decoded.
        case noImage
        /// It was not decoded, as after a cancellation.
        case unknown
    }

    private struct State {
        var completion: (@Sendable (Verdict) -> Void)?
        var isRejected = false
    }

    /// Whether the body is a stored one, so that the server may have a better one. Its rejection is reported at once.
    public let isFromSharedCache: Bool
    private let state: Lock<State>

    /// Creates a judgment that is still open.
    ///
    /// - Parameters:
    ///   - isFromSharedCache: whether the body is a stored one.
    ///   - completion: called exactly once, on any thread.
    public init(isFromSharedCache: Bool, completion: @escaping @Sendable (Verdict) -> Void) {
        self.isFromSharedCache = isFromSharedCache
        state = Lock(State(completion: completion))
    }

    deinit {
        let state = state.withLock { $0 }
        state.completion?(state.isRejected ? .noImage : .unknown)
    }

    /// Notes that the body was decoded completely.
    public func accept() { state.withLock { $0.completion.take() }?(.image) }

    /// Notes that the body cannot be decoded.
    public func reject() {
        let completion = state.withLock { state in
            state.isRejected = true
            return isFromSharedCache ? state.completion.take() : nil
        }
        completion?(.noImage)
    }
}
