import FoundationEssentials
import WebImageCore

/// Notices header fields that have many values for one URL, so that hardly a request finds a cached image. Warns about
/// each once.
final class HeaderVariety: Sendable {
    /// How many values of a field for one URL are noticed.
    static let valueLimit = 8
    /// The limit on pairs of a URL and a field. Beyond it, counting starts again.
    private static let pairLimit = 512
    /// The limit on names that a warning was given for, since a program may make names up.
    private static let nameLimit = 64

    /// Hashes: the values may be secret.
    private struct Pair: Hashable {
        let url: Int
        let name: String
    }

    private struct State {
        var values: [Pair: Set<Int>] = [:]
        var namesWarnedOf: Set<String> = []
    }

    private let state = Lock(State())

    /// Fields whose values are expected to differ, because users have their own.
    private static let credentialNames: Set = ["authorization", "proxy-authorization", "cookie"]

    /// Counts the values of a request's fields. Warns about one that has just reached the limit, in the trace and the
    /// log.
    func inspect(
        _ request: WebImageRequest, _ trace: TraceRecorder,
        _ log: (@Sendable (_ level: WebImageLogLevel, _ message: () -> String) -> Void)?
    ) {
        let headers = request.separatingHeaders
        guard !headers.isEmpty else { return }
        for (name, value) in headers where isNew(name.lowercased(), value, for: request.url) {
            let warning =
                "the header \(name) had \(Self.valueLimit) values for this URL, each with its own cached image; if it is "
                + "neither a credential nor selects an image, add it to harmlessHeaders"
            trace.note(.policy, .noted(warning))
            log?(.warning) { "\(request.displayURL): \(warning)" }
        }
    }

    /// Returns whether the field has just reached the limit for the first time.
    private func isNew(_ name: String, _ value: String, for url: URL) -> Bool {
        guard !Self.credentialNames.contains(name) else { return false }
        let pair = Pair(url: url.absoluteString.hashValue, name: name)
        let hash = value.hashValue
        return state.withLock { state in
            guard !state.namesWarnedOf.contains(name), state.namesWarnedOf.count < Self.nameLimit else { return false }
            if state.values[pair] == nil, state.values.count >= Self.pairLimit { state.values = [:] }
            state.values[pair, default: []].insert(hash)
            guard state.values[pair, default: []].count >= Self.valueLimit else { return false }
            state.namesWarnedOf.insert(name)
            state.values = state.values.filter { $0.key.name != name }
            return true
        }
    }
}
