import FoundationEssentials
import WebImageCore
import WebImageLoading

/// URLs that failed for good, without their fragments, for some minutes.
///
/// It is bounded: beyond ``limit``, what was put there first goes.
final class BlockList: Sendable {
    private struct Entry {
        let code: Int
        let expires: ContinuousClock.Instant
        let number: Int
    }

    private struct State {
        var entries: [URL: Entry] = [:]
        var lastNumber = 0
    }

    static let limit = 10_000

    private let duration: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Lock(State())

    init(duration: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
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
            // A tenth at once: looking for the oldest takes a walk through all.
            guard state.entries.count > Self.limit else { return }
            let newest = state.lastNumber - Self.limit * 9 / 10
            state.entries = state.entries.filter { $0.value.number > newest }
        }
    }

    /// Why `url` is blocked: the code of its error; `nil` when it is not.
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

    func remove(_ url: URL) { _ = state.withLock { $0.entries.removeValue(forKey: url.withoutFragment) } }

    func removeAll() { state.withLock { $0.entries = [:] } }

    var urls: Set<URL> {
        let now = now()
        return state.withLock { Set($0.entries.filter { $0.value.expires > now }.keys) }
    }
}

extension WebImageError {
    /// Whether the same request will fail again: a 404, no picture, a damaged one. `false` for a cancel, a time limit, a broken
    /// or refused connection, a server in trouble (5xx, 408, 425, 429), a miss in the cache and trouble on this machine.
    public var isLasting: Bool {
        switch self {
        case .invalidURL, .invalidDataURL, .unsupportedScheme, .invalidHeader, .tooManyRedirects, .emptyBody,
            .responseTooLarge, .redirectDenied, .unacceptableContentType, .unsupportedContentCoding, .headersTooLarge,
            .tooManyInformationalResponses,
            .unrecognizedFormat, .decoding, .imageTooLarge, .tooManyFrames, .animationTooLarge, .tooManyScans,
            .metadataTooLarge, .decodingMemoryExceeded, .invalidAnimation:
            true
        case .httpStatus(let code, _): code < 500 && ![408, 425, 429].contains(code)
        default: false
        }
    }
}

extension WebImageError {
    /// Whether another request for the URL can expect the same. Not after what the request's own limits or codecs refuse, nor
    /// where the server wants to know who asks.
    func countsAgainstURL(of request: WebImageRequest) -> Bool {
        switch self {
        case .httpStatus(401, _), .httpStatus(407, _): false
        case .imageTooLarge, .tooManyFrames, .animationTooLarge, .tooManyScans, .metadataTooLarge,
            .decodingMemoryExceeded:
            request.decodingLimits == nil && request.codecs == nil
        case .unrecognizedFormat, .decoding, .invalidAnimation: request.codecs == nil
        default: isLasting
        }
    }
}
