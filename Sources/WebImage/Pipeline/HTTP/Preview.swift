import WebImageCore

/// The stored picture that is shown until the server has been asked, and that is the end if the server has nothing newer.
///
/// ```
///            begin              finishMaking
///  nothing ─────────► being made ─────────► made ──cover──► made, and something newer is shown
///                         │ end(with: same)  │ end(with: same)   │ end(with: same)
///                         ▼                  ▼                   ▼
///               made: shown, and the end   the end, unchanged   the end, and news
/// ```
/// What arrives from the server is shown after it, never before or instead of it: whoever makes previews of that asks
/// ``cover(_:)``. So nothing stops a stored picture from being made but the end of all work on it, and an end that
/// awaits it comes.
final class Preview: Sendable {
    private struct State {
        /// What the picture is made of.
        var provenance: (any ImageProvenance)?
        var response: WebImageResponse?
        /// Of the latest provisional result that it was made of; 0 for a picture that was there.
        var number = 0
        /// Whether it is being made, or is about to be told.
        var isBusy = false
        /// Set when the end came first, and is the very picture being made.
        var isAwaited = false
        /// Whether something newer is shown by now.
        var isCovered = false
        /// Whether it is too late for another.
        var isOver = false
        /// Begins to make a preview of what arrives.
        var waiting: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    /// What becomes of the end.
    enum End {
        /// It is the picture that was made.
        case made(WebImageResponse)
        /// It is the picture being made, which whoever makes it delivers.
        case awaited
        /// It is another.
        case other
    }

    // MARK: The stored picture

    /// Notes a picture that is there already, before all others.
    func show(_ response: WebImageResponse) {
        state.withLock { ($0.provenance, $0.response) = (response.image.provenance, response) }
    }

    /// Whether a picture was shown that was there already.
    var hasPicture: Bool { state.withLock { $0.response != nil } }

    /// Whether a picture is to be made for what has this provenance; `false` where it is there, and where it would come too
    /// late or in the way of another. Who is told so calls ``update()`` once it is made and told, or could not be made.
    ///
    /// - Parameter number: of the provisional result: what comes after one with a higher number was overtaken on its way to a
    ///   late subscriber.
    func begin(with provenance: (any ImageProvenance)?, number: Int) -> Bool {
        state.withLock { state in
            guard !state.isBusy, !state.isCovered, !state.isOver, number > state.number else { return false }
            state.number = number
            if let own = state.provenance, own === provenance { return false }
            (state.provenance, state.response, state.isBusy) = (provenance, nil, true)
            return true
        }
    }

    /// Notes the picture that was made; `true` where it is the end as well.
    func finishMaking(_ response: WebImageResponse) -> Bool {
        state.withLock { state in
            state.response = response
            return state.isAwaited
        }
    }

    /// Forgets the picture that could not be made; `true` where the end waits for it.
    func giveUp() -> Bool {
        state.withLock { state in
            (state.provenance, state.response) = (nil, nil)
            return state.isAwaited
        }
    }

    /// Lets previews come of what has arrived meanwhile.
    func update() {
        let waiting = state.withLock { state in
            state.isBusy = false
            if state.waiting != nil { state.isCovered = true }
            return state.waiting.take()
        }
        waiting?()
    }

    /// Says what the end is made of.
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

    // MARK: What arrives

    /// Calls `body`, which begins a preview of what has arrived: now, or once the stored picture has been told. Of those that
    /// wait for it the newest alone is called.
    func cover(_ body: @escaping @Sendable () -> Void) {
        // What it takes the place of is let go outside the lock.
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

/// Which kind of picture comes before the end.
enum PreviewKind: Sendable {
    /// A whole one, which may turn out to be the end.
    case stored
    /// What memory has of the picture in another size.
    case otherSize
    /// What has arrived of it.
    case arriving
}

extension WebImageResponse {
    /// The same as an end that shows nothing new.
    var unchanged: Self {
        var response = self
        response.isUnchanged = true
        return response
    }
}
