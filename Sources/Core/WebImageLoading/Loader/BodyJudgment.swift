internal import WebImageCore

/// Tells a cache that machines share whether a body is an image. Only images are stored there.
///
///     decoded completely ──► accept ──► image
///     not decodable ───────► reject ──► noImage ─┐ with the last reference: another load of the same
///     neither, as after a cancellation ► unknown ┘ bytes may have other limits, and accept them
package final class BodyJudgment: Sendable {
    /// The result of decoding.
    package enum Verdict: Sendable {
        case image, noImage, unknown
    }

    private struct State {
        var completion: (@Sendable (Verdict) -> Void)?
        var isRejected = false
    }

    /// Whether the body is a stored one, so that the server may have a better one. Its rejection is reported at once.
    package let isFromSharedCache: Bool
    private let state: Lock<State>

    /// - Parameter completion: called exactly once, on any thread.
    package init(isFromSharedCache: Bool, completion: @escaping @Sendable (Verdict) -> Void) {
        self.isFromSharedCache = isFromSharedCache
        state = Lock(State(completion: completion))
    }

    deinit {
        let state = state.withLock { $0 }
        state.completion?(state.isRejected ? .noImage : .unknown)
    }

    /// Notes that the body was decoded completely.
    package func accept() { state.withLock { $0.completion.take() }?(.image) }

    /// Notes that the body cannot be decoded.
    package func reject() {
        let completion = state.withLock { state in
            state.isRejected = true
            return isFromSharedCache ? state.completion.take() : nil
        }
        completion?(.noImage)
    }
}
