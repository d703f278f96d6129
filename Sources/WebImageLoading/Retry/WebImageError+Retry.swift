internal import CWebImageCurl
public import WebImageCore

extension WebImageError {
    /// Whether repeating the load later may succeed: the connection failed or was lost, the server did not respond or
    /// sent too little, or it reported a temporary problem (408, 429, 500, 502, 503, 504).
    ///
    /// Errors of trust and policy are not transient, nor are responses that the server would repeat, such as 404 or
    /// 501. The total time limit is not transient either, since it applies to all attempts together.
    public var isTransient: Bool {
        switch self {
        case .httpStatus(let code, _): [408, 429, 500, 502, 503, 504].contains(code)
        // The time for further attempts is used up.
        case .timedOut(.total, _, _): false
        case .timedOut, .invalidResponse(.truncated, _): true
        case .transport(let code, _, _): Self.transientCodes.contains(code)
        default: false
        }
    }

    /// Whether the cause may be a missing network, since no server responded.
    package var mayBeOffline: Bool {
        switch self {
        case .timedOut(.connecting, _, _), .timedOut(.idle, _, _), .invalidResponse(.truncated, _): true
        case .transport: isTransient
        default: false
        }
    }

    /// Whether another URL may succeed. Problems of the request itself, or of this machine, would recur.
    package var concernsURL: Bool {
        switch self {
        case .timedOut(.total, _, _): false
        case .cancelled, .outOfResources: false
        case .invalidRequest(.invalidHeader, _), .invalidRequest(.unsupportedMethod, _): false
        default: true
        }
    }

    /// libcurl's codes for failed lookups, connections and streams. There is no separate code for a reset during the
    /// TLS handshake. Certificate errors have another code and are never passed here.
    private static let transientCodes: Set = Set(
        [
            CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_HTTP2,
            CURLE_PARTIAL_FILE, CURLE_OPERATION_TIMEDOUT, CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING, CURLE_SEND_ERROR,
            CURLE_RECV_ERROR, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR,
        ].map { Int($0.rawValue) })
}
