import WebImageCore

/// The stored image that is shown until the server has answered. It is also the result if the server has nothing newer.
///
/// ```
///            begin              finishMaking
///  nothing ─────────► being made ─────────► made ──cover──► made, and a newer image is shown
///                         │ end(with: same)  │ end(with: same)     │ end(with: same)
///                         ▼                  ▼                     ▼
///           made: shown, then the result   the result, unchanged   the result
/// ```
/// Previews of what arrives from the server are shown after it, never before or instead of it, because they go through
/// ``cover(_:)``. So only the end of the job stops the stored image from being made, and a result that awaits it is
/// always delivered.
final class Preview: Sendable {
    private struct State {
        /// The provenance of the image.
        var provenance: (any ImageProvenance)?
        var response: WebImageResponse?
        /// The number of the latest provisional result that it was made from; 0 for an image that existed already.
        var number = 0
        /// Whether it is being made, or is about to be reported.
        var isBusy = false
        /// Set if the result came first and is the image that is being made.
        var isAwaited = false
        /// Whether a newer image is shown.
        var isCovered = false
        /// Whether it is too late for another preview.
        var isOver = false
        /// Starts a preview of what has arrived.
        var waiting: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    /// How the result relates to the preview.
    enum End {
        /// The result is the image that was made.
        case made(WebImageResponse)
        /// The result is the image that is being made. The code that makes it delivers the result.
        case awaited
        /// The result is another image.
        case other
    }

    // MARK: The stored image

    /// Notes an image that exists already, before all others.
    func show(_ response: WebImageResponse) {
        state.withLock { ($0.provenance, $0.response) = (response.image.provenance, response) }
    }

    /// Whether there is an image.
    var hasPicture: Bool { state.withLock { $0.response != nil } }

    /// Returns whether to make an image from bytes with this provenance; `false` if it exists already, if another is
    /// being made, or if it would be too late. After `true`, the caller must call ``update()`` once the image is made
    /// and reported, or cannot be made.
    ///
    /// - Parameter number: the number of the provisional result. A result is ignored if one with a higher number came
    ///   before, because a late subscriber may receive them in another order.
    func begin(with provenance: (any ImageProvenance)?, number: Int) -> Bool {
        state.withLock { state in
            guard !state.isBusy, !state.isCovered, !state.isOver, number > state.number else { return false }
            state.number = number
            if let own = state.provenance, own === provenance { return false }
            (state.provenance, state.response, state.isBusy) = (provenance, nil, true)
            return true
        }
    }

    /// Notes the image that was made. Returns whether it is the result as well.
    func finishMaking(_ response: WebImageResponse) -> Bool {
        state.withLock { state in
            state.response = response
            return state.isAwaited
        }
    }

    /// Notes that the image could not be made. Returns whether the result waits for it.
    func failMaking() -> Bool {
        state.withLock { state in
            (state.provenance, state.response) = (nil, nil)
            return state.isAwaited
        }
    }

    /// Starts the preview of what has arrived meanwhile, if one waits.
    func update() {
        let waiting = state.withLock { state in
            state.isBusy = false
            if state.waiting != nil { state.isCovered = true }
            return state.waiting.take()
        }
        waiting?()
    }

    /// Notes the provenance of the result. Returns how the result relates to the preview.
    func end(with provenance: (any ImageProvenance)?) -> End {
        state.withLock { state in
            state.isOver = true
            guard let own = state.provenance, own === provenance else { return .other }
            if var response = state.response {
                response.isUnchanged = !state.isCovered
                return .made(response)
            }
            state.isAwaited = true
            return .awaited
        }
    }

    // MARK: Arriving bytes

    /// Calls `body`, which starts a preview of what has arrived: now, or once the stored image has been reported. Of
    /// several closures that wait, only the latest is called.
    func cover(_ body: @escaping @Sendable () -> Void) {
        // The closure that it replaces is released outside the lock.
        let (isNow, last) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard state.isBusy else {
                state.isCovered = true
                return (true, nil)
            }
            defer { state.waiting = body }
            return (false, state.waiting)
        }
        withExtendedLifetime(last) {}
        if isNow { body() }
    }
}

extension WebImageResponse {
    /// The same response as a result that shows nothing new.
    var unchanged: Self {
        var response = self
        response.isUnchanged = true
        return response
    }
}
