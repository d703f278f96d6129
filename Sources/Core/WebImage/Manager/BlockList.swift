import FoundationEssentials
import WebImageCore
import WebImageLoading

/// The URLs whose loads have failed with a lasting error, without their fragments. An entry expires after the given
/// duration.
///
/// The number of entries is limited to ``limit``. Beyond it, expired entries are removed first, then the oldest.
final class BlockList: Sendable {
    private struct Entry {
        let code: Int
        let expires: BootTime
        let number: Int
    }

    private struct State {
        var entries: [URL: Entry] = [:]
        var lastNumber = 0
    }

    static let limit = 10_000

    private let duration: Duration
    private let now: @Sendable () -> BootTime
    private let state = Lock(State())

    init(duration: Duration, now: @escaping @Sendable () -> BootTime = { BootTime.now }) {
        self.duration = duration
        self.now = now
    }

    func add(_ url: URL, _ error: WebImageError) {
        let (url, now) = (url.withoutFragment, now())
        state.withLock { state in
            state.lastNumber += 1
            state.entries[url] = Entry(code: error.code, expires: now + duration, number: state.lastNumber)
            guard state.entries.count > Self.limit else { return }
            state.entries = state.entries.filter { $0.value.expires > now }
            // Removes a tenth at once, because finding the oldest entries means looking at all.
            guard state.entries.count > Self.limit else { return }
            let newest = state.lastNumber - Self.limit * 9 / 10
            state.entries = state.entries.filter { $0.value.number > newest }
        }
    }

    /// Returns the code of the error that blocked `url`; `nil` if it is not blocked.
    func code(for url: URL) -> Int? {
        let (url, now) = (url.withoutFragment, now())
        return state.withLock { state in
            guard let entry = state.entries[url] else { return nil }
            guard entry.expires > now else {
                state.entries[url] = nil
                return nil
            }
            return entry.code
        }
    }

    /// Called after each load from a loader, and most managers block nothing.
    func remove(_ url: URL) {
        state.withLock { if !$0.entries.isEmpty { $0.entries[url.withoutFragment] = nil } }
    }

    func removeAll() { state.withLock { $0.entries = [:] } }

    var urls: Set<URL> {
        let now = now()
        return state.withLock { Set($0.entries.filter { $0.value.expires > now }.keys) }
    }
}

extension WebImageError {
    /// Whether the same request will fail again, as after a 404, for a body that is not an image, or for a damaged
    /// image.
    ///
    /// `false` for a cancellation, a timeout, a failed or refused connection, server errors (5xx, 408, 425, 429), a
    /// cache miss, and errors of this machine.
    var isLasting: Bool {
        switch self {
        case .invalidRequest(.unsupportedMethod, _), .invalidRequest(.invalidProxy, _): false
        case .invalidResponse(.truncated, _), .invalidResponse(.refused, _), .invalidResponse(.decryption, _): false
        case .limitExceeded(.processorTime, _), .limitExceeded(.side, _): false
        case .invalidURL, .invalidRequest, .blocked(.redirect, _), .blocked(.insecureRedirect, _), .invalidResponse,
            .unrecognizedFormat, .decoding, .limitExceeded, .invalidFrames:
            true
        case .isolation(_, .unavailable, _), .isolation(_, .startTimedOut, _), .isolation(_, .missingLayers, _): false
        case .isolation: true
        case .httpStatus(let code, _): code < 500 && ![408, 425, 429].contains(code)
        default: false
        }
    }
}

extension WebImageError {
    /// Whether another request for the URL can expect the same error. Errors that depend on the request's own limits or
    /// codecs do not count. Neither do 401 and 407, where the server requires credentials.
    func countsAgainstURL(of request: WebImageRequest) -> Bool {
        switch self {
        case .httpStatus(401, _), .httpStatus(407, _): false
        case .limitExceeded: isLasting && request.decodingLimits == nil && request.codecs == nil
        case .unrecognizedFormat, .decoding, .isolation, .invalidFrames: isLasting && request.codecs == nil
        default: isLasting
        }
    }
}
