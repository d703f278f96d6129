internal import CWebImageCurl
public import WebImageCore

extension WebImageError {
    /// Whether the same load may succeed a little later: the connection failed or was lost, the server was silent or sent too
    /// little, or it says itself that it is in trouble (408, 429, 500, 502, 503, 504).
    ///
    /// Never where somebody is not trusted or forbidden, not for what the server will say again, such as 404 or 501, and not
    /// after the total time limit, which holds for all attempts together.
    public var isTransient: Bool {
        switch self {
        case .httpStatus(let code, _): [408, 429, 500, 502, 503, 504].contains(code)
        // The time for further attempts is used up.
        case .timedOut(.total, _, _): false
        case .timedOut, .truncated, .offline: true
        case .transport(let code, _, _): Self.transientCodes.contains(code)
        default: false
        }
    }

    /// Whether it may be for want of a network: nobody has answered.
    package var mayBeOffline: Bool {
        switch self {
        case .timedOut(.connecting, _, _), .timedOut(.idle, _, _), .truncated: true
        case .transport: isTransient
        default: false
        }
    }

    /// Whether another URL may do better. What is wrong with the request itself, or with this machine, would be so again.
    package var concernsURL: Bool {
        switch self {
        case .timedOut(.total, _, _): false
        case .cancelled, .invalidHeader, .unsupportedMethod, .noThread, .temporaryFile, .outOfMemory: false
        default: true
        }
    }

    /// libcurl's numbers for look-ups, connections and streams that fail. A reset during the TLS handshake has no number of
    /// its own; that of certificates is another, and never gets here.
    private static let transientCodes: Set = Set(
        [
            CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_HTTP2,
            CURLE_PARTIAL_FILE, CURLE_OPERATION_TIMEDOUT, CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING, CURLE_SEND_ERROR,
            CURLE_RECV_ERROR, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR,
        ].map { Int($0.rawValue) })
}
