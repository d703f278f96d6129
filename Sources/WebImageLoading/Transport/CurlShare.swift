internal import CWebImageCurl

/// What transfers have in common beyond the connections of their multi handle. Used on the network thread alone, so that
/// libcurl needs no locks of ours.
///
/// An easy handle keeps TLS sessions to itself otherwise, and each is used for one transfer: every new connection would pay
/// for a whole handshake.
final class CurlShare {
    private let share: UnsafeMutableRawPointer?
    private let hasCookies: Bool

    init(hasCookies: Bool) {
        self.hasCookies = hasCookies
        share = curl_share_init()
        guard let share else { return }
        // A libcurl without TLS has no sessions.
        _ = cwi_curl_share_data(share, CURL_LOCK_DATA_SSL_SESSION)
        if hasCookies { _ = cwi_curl_share_data(share, CURL_LOCK_DATA_COOKIE) }
    }

    deinit {
        if let share { curl_share_cleanup(share) }
    }

    /// Lets `easy` take part for as long as it exists.
    func join(_ easy: UnsafeMutableRawPointer) {
        cwi_curl_set_pointer(easy, CURLOPT_SHARE, share)
        // Reads no file; it switches libcurl's cookies on.
        if hasCookies { cwi_curl_set_string(easy, CURLOPT_COOKIEFILE, "") }
    }
}
