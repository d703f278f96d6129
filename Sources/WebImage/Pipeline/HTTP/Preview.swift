import WebImageCore

/// The picture that is shown until the server has been asked, and that is the end if the server has nothing newer.
///
/// ```
///            begin              finishMaking
///  nothing ─────────► being made ─────────► made
///                         │ end(with: same)  │ end(with: same)
///                         ▼                  ▼
///               made: shown, and the end   the end, unchanged
/// ```
final class Preview: Sendable {
    private struct State {
        /// What the picture is made of.
        var provenance: (any ImageProvenance)?
        var response: WebImageResponse?
        /// Of the latest provisional result that it was made of; 0 for a picture that was there.
        var number = 0
        /// Set when the end came first, and is the very picture being made.
        var isAwaited = false
    }

    private let state = Lock(State())

    /// What becomes of the end.
    enum End {
        /// It is the picture that was shown.
        case unchanged(WebImageResponse)
        /// It is the picture being made, which whoever makes it delivers.
        case awaited
        /// It is another.
        case other
    }

    /// Notes a picture that is there already.
    func show(_ response: WebImageResponse) {
        state.withLock { $0 = State(provenance: response.image.provenance, response: response) }
    }

    /// Whether a picture is to be made for what has this provenance; `false` where it is there, and for what comes after
    /// something with a higher number: on its way to a late subscriber it was overtaken.
    func begin(with provenance: (any ImageProvenance)?, number: Int) -> Bool {
        state.withLock { state in
            guard number > state.number else { return false }
            state.number = number
            if let own = state.provenance, own === provenance { return false }
            state = State(provenance: provenance, number: number)
            return true
        }
    }

    /// Notes the picture that was made; `true` where it is the end as well.
    func finishMaking(_ response: WebImageResponse, with provenance: (any ImageProvenance)?) -> Bool {
        state.withLock { state in
            guard state.provenance === provenance else { return false }
            state.response = response
            return state.isAwaited
        }
    }

    /// Forgets the picture that could not be made; `true` where the end waits for it.
    func giveUp(_ provenance: (any ImageProvenance)?) -> Bool {
        state.withLock { state in
            guard state.provenance === provenance else { return false }
            defer { state = State(number: state.number) }
            return state.isAwaited
        }
    }

    /// Says what the end is made of.
    func end(with provenance: (any ImageProvenance)?) -> End {
        state.withLock { state in
            guard let own = state.provenance, own === provenance else { return .other }
            if let response = state.response { return .unchanged(response) }
            state.isAwaited = true
            return .awaited
        }
    }
}
