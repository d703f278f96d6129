internal import CWebImageCurl
internal import FoundationEssentials

extension CurlHandle {
    /// Sets who may see what. Unless it returns CURLE_OK, the exchange must not begin: libcurl would check less than it should.
    func grant(_ access: TransferAccess) -> CURLcode {
        authenticate(access.credential, access.authentication, CURLOPT_USERNAME, CURLOPT_PASSWORD, CURLOPT_HTTPAUTH)
        authenticate(
            access.proxyCredential, access.proxyAuthentication, CURLOPT_PROXYUSERNAME, CURLOPT_PROXYPASSWORD,
            CURLOPT_PROXYAUTH)
        // Empty, not NULL, which would be the environment's; and that no exceptions are its either.
        cwi_curl_set_string(easy, CURLOPT_PROXY, access.proxy?.text ?? "")
        cwi_curl_set_string(easy, CURLOPT_NOPROXY, "")

        let isChecked = !access.allowsInvalidCertificates
        var results = [
            cwi_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, isChecked ? 1 : 0),
            cwi_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, isChecked ? 2 : 0),
        ]
        let pins = access.pinnedPublicKeys.map { "sha256//" + $0.base64 }.joined(separator: ";")
        if !pins.isEmpty { results.append(cwi_curl_set_string(easy, CURLOPT_PINNEDPUBLICKEY, pins)) }
        return results.firstFailure
    }

    private func authenticate(
        _ credential: Credential?, _ authentication: TransferAccess.Authentication, _ username: CURLoption,
        _ password: CURLoption, _ methods: CURLoption
    ) {
        // CURLAUTH_BASIC, _DIGEST and _BEARER below: macros with a cast, which Swift does not import.
        switch credential?.secret {
        case .password(let name, let secret):
            cwi_curl_set_string(easy, username, name)
            cwi_curl_set_string(easy, password, secret)
        case .bearerToken(let token) where methods == CURLOPT_HTTPAUTH:
            cwi_curl_set_string(easy, CURLOPT_XOAUTH2_BEARER, token)
            cwi_curl_set_long(easy, methods, 1 << 6)
            return
        case .bearerToken, nil:
            // libcurl has tokens for servers alone: the proxy's would go there.
            cwi_curl_set_long(easy, methods, 1)
            return
        }
        let bits =
            switch authentication {
            case .basic: 1
            case .digest: 2
            case .negotiated: 1 | 2
            }
        cwi_curl_set_long(easy, methods, bits)
    }

    /// `host:port:address,…`, as libcurl takes it.
    static func resolveEntry(for url: URL, addresses: [String]) -> String? {
        guard !addresses.isEmpty, let origin = HTTPOrigin(url) else { return nil }
        let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
        return "\(host):\(origin.port):" + addresses.joined(separator: ",")
    }
}

extension TransferAccess {
    /// Whether libcurl repeats the exchange by itself after a 401 or 407.
    var isNegotiated: Bool {
        credential?.username != nil && authentication != .basic
            || proxyCredential != nil && proxyAuthentication != .basic
    }
}

extension CurlTransfer {
    static func refusal(trust: CURLcode, access: CURLcode) -> TransferEnd? {
        if trust != CURLE_OK { return .untrusted(.authoritiesUnreadable(String(cString: curl_easy_strerror(trust)))) }
        guard access != CURLE_OK else { return nil }
        return .failed(code: Int(access.rawValue), message: String(cString: curl_easy_strerror(access)))
    }

    /// No name is longer than 255 bytes. libcurl before 8.4 writes past its buffer when a SOCKS proxy is slow to take such a one
    /// (CVE-2023-38545).
    static func refusal(of request: TransferRequest) -> TransferEnd? {
        let byteCount = request.url.host()?.utf8.count ?? 0
        return request.access.proxy != nil && byteCount > 255 ? .malformedURL : nil
    }

    /// What libcurl's failure means for who was asked; `nil` when it is about something else.
    func trustFailure(for result: CURLcode) -> TransferEnd? {
        switch result {
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return .untrusted(.publicKeyNotPinned)
        case CURLE_SSL_CACERT_BADFILE: return .untrusted(.authoritiesUnreadable(handle.message(for: result)))
        case CURLE_PEER_FAILED_VERIFICATION: break
        case CURLE_RECV_ERROR, CURLE_COULDNT_CONNECT:
            guard handle.info(CURLINFO_HTTP_CONNECTCODE) == 407 else { return nil }
            return .proxyRefused(handle.info(CURLINFO_PROXYAUTH_AVAIL) & 2 != 0 ? .digest : .basic)
        default: return nil
        }
        // OpenSSL's X509_V_ERR_…
        switch handle.info(CURLINFO_SSL_VERIFYRESULT) {
        case 9: return .untrusted(.notYetValid)
        case 10: return .untrusted(.expired)
        case 62, 64: return .untrusted(.wrongHost)
        case 18: return .untrusted(.selfSigned)
        case 2, 19, 20, 21, 27: return .untrusted(.unknownIssuer)
        default:
            // libcurl compares the names itself, and has no number for that.
            let message = handle.message(for: result)
            return .untrusted(message.contains("subject name") ? .wrongHost : .other(message))
        }
    }
}
