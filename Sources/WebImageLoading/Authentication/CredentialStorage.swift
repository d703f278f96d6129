package import FoundationEssentials
internal import WebImageCore

/// The credentials that have worked for requests with ``LoaderRequest/usesCredentialStorage``, by origin and realm. In memory only.
///
/// A stored credential is tried when a server asks again. Below a path where one has worked, it is sent without being asked for
/// (RFC 7617 §2.2).
package final class CredentialStorage: Sendable {
    private struct Space {
        var credential: Credential
        var scheme: AuthenticationChallenge.Scheme
        var directory: String
    }

    private struct State {
        var spaces: [HTTPOrigin: [String: Space]] = [:]
        /// Where Basic has worked, for requests with their own credential.
        var basicOrigins: Set<HTTPOrigin> = []
    }

    private let state = Lock(State())

    init() {}

    package func removeAll() { state.withLock { $0 = State() } }

    package func removeCredentials(for url: URL) {
        guard let origin = HTTPOrigin(url) else { return }
        state.withLock { state in
            state.spaces[origin] = nil
            state.basicOrigins.remove(origin)
        }
    }

    package var count: Int { state.withLock { $0.spaces.values.reduce(0) { $0 + $1.count } } }

    func credential(for origin: HTTPOrigin, realm: String?) -> Credential? {
        state.withLock { $0.spaces[origin]?[realm ?? ""]?.credential }
    }

    /// Returns the credential to send without being asked: one that has worked at or above the directory of `path`.
    func credential(toSendUnaskedTo origin: HTTPOrigin, path: String) -> Credential? {
        state.withLock { state in
            let spaces = state.spaces[origin]?.values.filter { path.hasPrefix($0.directory) } ?? []
            return spaces.max { $0.directory.utf8.count < $1.directory.utf8.count }?.credential
        }
    }

    func insert(
        _ credential: Credential, for origin: HTTPOrigin, realm: String?, scheme: AuthenticationChallenge.Scheme,
        path: String
    ) {
        let directory = String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
        state.withLock { state in
            // A server can name any number of realms.
            guard (state.spaces[origin]?.count ?? 0) < Self.realmLimit, state.spaces.count < Self.originLimit else {
                return
            }
            state.spaces[origin, default: [:]][realm ?? ""] = Space(
                credential: credential, scheme: scheme, directory: directory)
        }
    }

    func remove(_ credential: Credential, for origin: HTTPOrigin) {
        state.withLock { state in
            state.spaces[origin] = state.spaces[origin]?.filter { $0.value.credential != credential }
            if state.spaces[origin]?.isEmpty == true { state.spaces[origin] = nil }
        }
    }

    func takesBasic(_ origin: HTTPOrigin) -> Bool { state.withLock { $0.basicOrigins.contains(origin) } }

    func noteBasic(_ worked: Bool, for origin: HTTPOrigin) {
        state.withLock { state in
            if !worked {
                state.basicOrigins.remove(origin)
            } else if state.basicOrigins.count < Self.originLimit {
                state.basicOrigins.insert(origin)
            }
        }
    }

    private static let realmLimit = 64
    private static let originLimit = 1024
}
