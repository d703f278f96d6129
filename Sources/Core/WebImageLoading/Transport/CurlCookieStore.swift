internal import CWebImageCurl
internal import FoundationEssentials

/// libcurl's cookies, shared by those transfers that need any. Used on the network thread alone, so that libcurl needs
/// no locks of ours.
final class CurlCookieStore: CookieStore {
    /// RFC 6265 §6.1 requires at least these limits.
    static let limitPerDomain = 50
    static let limit = 3000
    /// How far servers may exceed the limits before they are applied, which takes a while.
    static let slack = 256

    private(set) lazy var share = CurlShare(hasCookies: true)
    /// For reading and changing cookies, which libcurl supports on easy handles only.
    private lazy var easy: UnsafeMutableRawPointer? = {
        guard let easy = cwi_curl_easy_init() else { return nil }
        isUsed = true
        share.join(easy)
        return easy
    }()
    private var isUsed = false
    private var receivedCount = 0

    deinit {
        if isUsed, let easy { cwi_curl_easy_cleanup(easy) }
    }

    func cookies() -> [Cookie] {
        guard let easy, let list = cwi_curl_get_list(easy, CURLINFO_COOKIELIST) else { return [] }
        defer { cwi_curl_slist_free(list) }
        let now = Date()
        return sequence(first: list) { $0.pointee.next }
            .compactMap { $0.pointee.data.flatMap { Cookie(netscapeLine: String(cString: $0)) } }
            .filter { ($0.expires ?? .distantFuture) > now }
    }

    func insert(_ cookies: [Cookie]) {
        add(cookies)
        trim(received: cookies.count)
    }

    func remove(_ cookies: [Cookie]) {
        guard let easy else { return }
        for var cookie in cookies {
            cookie.expires = Date(timeIntervalSince1970: 1)
            cwi_curl_set_string(easy, CURLOPT_COOKIELIST, cookie.netscapeLine)
        }
    }

    func removeAll() {
        guard let easy else { return }
        cwi_curl_set_string(easy, CURLOPT_COOKIELIST, "ALL")
    }

    /// Applies the limits once enough cookies have been received.
    func trim(received count: Int) {
        receivedCount += count
        guard receivedCount > Self.slack else { return }
        receivedCount = 0
        // libcurl lists a domain's oldest first.
        let all = cookies()
        var kept: [Cookie] = []
        var countByDomain: [String: Int] = [:]
        for cookie in all.reversed() where kept.count < Self.limit {
            countByDomain[cookie.domain, default: 0] += 1
            if countByDomain[cookie.domain, default: 0] <= Self.limitPerDomain { kept.append(cookie) }
        }
        guard kept.count < all.count else { return }
        removeAll()
        add(kept.reversed())
    }

    private func add(_ cookies: some Sequence<Cookie>) {
        guard let easy else { return }
        for cookie in cookies { cwi_curl_set_string(easy, CURLOPT_COOKIELIST, cookie.netscapeLine) }
    }
}

/// Data that transfers share beyond the connections of their multi handle. Used on the network thread alone, so that
/// libcurl needs no locks of ours.
///
/// An easy handle keeps TLS sessions to itself otherwise, and each is used for one transfer: every new connection would
/// pay for a whole handshake.
final class CurlShare {
    private let share: UnsafeMutableRawPointer?
    private let hasCookies: Bool

    init(hasCookies: Bool) {
        self.hasCookies = hasCookies
        share = cwi_curl_share_init()
        guard let share else { return }
        // A libcurl without TLS has no sessions.
        _ = cwi_curl_share_data(share, CURL_LOCK_DATA_SSL_SESSION)
        if hasCookies { _ = cwi_curl_share_data(share, CURL_LOCK_DATA_COOKIE) }
    }

    deinit {
        if let share { cwi_curl_share_cleanup(share) }
    }

    /// Adds `easy` for as long as it exists.
    func join(_ easy: UnsafeMutableRawPointer) {
        cwi_curl_set_pointer(easy, CURLOPT_SHARE, share)
        // Reads no file; it enables libcurl's cookies.
        if hasCookies { cwi_curl_set_string(easy, CURLOPT_COOKIEFILE, "") }
    }
}
