internal import CWebImageCurl
internal import FoundationEssentials
internal import Glibc
import WebImageCore

extension CurlHandle {
    /// Sets credentials, proxy and trust. Unless it returns CURLE_OK, the exchange must not start: libcurl would check
    /// less than it should.
    func grant(_ access: TransferAccess) -> CURLcode {
        if let signature = access.signature, case .password(let name, let secret) = access.credential?.kind {
            cwi_curl_set_string(easy, CURLOPT_USERNAME, name)
            cwi_curl_set_string(easy, CURLOPT_PASSWORD, secret)
            cwi_curl_set_string(easy, CURLOPT_AWS_SIGV4, signature)
            // `Expect` stays: see `linesWithoutDefaults`.
            cwi_curl_set_long(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1)
        } else {
            authenticate(
                access.credential, access.authentication, CURLOPT_USERNAME, CURLOPT_PASSWORD, CURLOPT_HTTPAUTH)
        }
        authenticate(
            access.proxyCredential, access.proxyAuthentication, CURLOPT_PROXYUSERNAME, CURLOPT_PROXYPASSWORD,
            CURLOPT_PROXYAUTH)
        // Empty, not NULL, which would mean the environment's proxy and exceptions.
        cwi_curl_set_string(easy, CURLOPT_PROXY, access.proxy?.text ?? "")
        cwi_curl_set_string(easy, CURLOPT_NOPROXY, "")

        let isChecked = !access.allowsInvalidCertificates
        var results = [
            cwi_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, isChecked ? 1 : 0),
            cwi_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, isChecked ? 2 : 0),
        ]
        let pins = access.pinnedPublicKeys.map { "sha256//" + $0 }.joined(separator: ";")
        if !pins.isEmpty { results.append(cwi_curl_set_string(easy, CURLOPT_PINNEDPUBLICKEY, pins)) }
        return results.firstFailure
    }

    private func authenticate(
        _ credential: Credential?, _ authentication: TransferAccess.Authentication, _ username: CURLoption,
        _ password: CURLoption, _ methods: CURLoption
    ) {
        // CURLAUTH_BASIC, _DIGEST and _BEARER below: macros with a cast, which Swift does not import.
        switch credential?.kind {
        case .password(let name, let secret):
            cwi_curl_set_string(easy, username, name)
            cwi_curl_set_string(easy, password, secret)
        case .bearerToken(let token) where methods == CURLOPT_HTTPAUTH:
            cwi_curl_set_string(easy, CURLOPT_XOAUTH2_BEARER, token)
            cwi_curl_set_long(easy, methods, 1 << 6)
            return
        case .bearerToken, nil:
            // libcurl supports tokens for servers only: the proxy's would go to the server.
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

    /// Returns libcurl's form, `host:port:address,…`.
    static func resolveEntry(for url: URL, addresses: [String]) -> String? {
        guard !addresses.isEmpty, let origin = HTTPOrigin(url) else { return nil }
        let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
        return "\(host):\(origin.port):" + addresses.joined(separator: ",")
    }
}

extension TransferAccess {
    /// Whether libcurl itself repeats the exchange after a 401 or 407.
    var isNegotiated: Bool {
        credential?.username != nil && authentication != .basic && signature == nil
            || proxyCredential != nil && proxyAuthentication != .basic
    }
}

extension CurlTransfer {
    static func refusal(trust: CURLcode, access: CURLcode) -> TransferEnd? {
        if trust != CURLE_OK {
            return .untrusted(Self.unreadableAuthorities(String(cString: cwi_curl_easy_text(trust))))
        }
        guard access != CURLE_OK else { return nil }
        return .failed(code: Int(access.rawValue), message: String(cString: cwi_curl_easy_text(access)))
    }

    private static func unreadableAuthorities(_ message: String) -> WebImageError.CertificateFailure {
        .other("the trusted authorities cannot be read: \(message)")
    }

    /// No name is longer than 255 bytes. libcurl before 8.4 writes past its buffer if a SOCKS proxy is slow to accept a
    /// longer one (CVE-2023-38545).
    static func refusal(of request: TransferRequest) -> TransferEnd? {
        let byteCount = request.url.host()?.utf8.count ?? 0
        return request.access.proxy != nil && byteCount > 255 ? .malformedURL : nil
    }

    /// Returns the end for a libcurl failure about trust or a proxy; `nil` for other failures.
    func trustFailure(for result: CURLcode) -> TransferEnd? {
        switch result {
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return .untrusted(.publicKeyNotPinned)
        case CURLE_SSL_CACERT_BADFILE: return .untrusted(Self.unreadableAuthorities(handle.message(for: result)))
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
            // libcurl compares the names itself, without a number for that.
            let message = handle.message(for: result)
            return .untrusted(message.contains("subject name") ? .wrongHost : .other(message))
        }
    }
}

extension CurlHandle {
    /// Sets the method and the body.
    func setMethod(_ method: LoaderRequest.Method, body: Data?) {
        switch method {
        case .head: cwi_curl_set_long(easy, CURLOPT_NOBODY, 1)
        case .get: cwi_curl_set_long(easy, CURLOPT_HTTPGET, 1)
        default:
            if let body = body ?? (method.expectsBody ? Data() : nil) {
                // The count comes first: without it libcurl takes the bytes for a string.
                cwi_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
                body.withUnsafeBytes { bytes in
                    // NULL would mean no body.
                    withUnsafeBytes(of: 0) { none in
                        _ = cwi_curl_set_bytes(easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? none.baseAddress)
                    }
                }
            } else {
                cwi_curl_set_long(easy, CURLOPT_HTTPGET, 1)
            }
            cwi_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, method.name)
        }
    }
}

extension CurlTransfer {
    /// Lines that stop libcurl from adding fields: the content type of a form, and `Expect`, which waits a second for
    /// servers that do not support it.
    static func linesWithoutDefaults(for request: TransferRequest) -> [String] {
        // libcurl 7.88 would sign fields that are not sent.
        guard request.access.signature == nil, request.body != nil || request.method.expectsBody else { return [] }
        let names = Set(request.headers.map { $0.name.lowercased() })
        return ["Content-Type", "Expect"].filter { !names.contains($0.lowercased()) }.map { $0 + ":" }
    }
}

extension CurlHandle {
    /// Sets the trusted authorities; returns the first failure. The handle must not be used after one: libcurl would
    /// use its defaults.
    func trust(_ authorities: CertificateAuthorities) -> CURLcode {
        let results: [CURLcode]
        switch authorities {
        case .system:
            guard let bundle = Self.systemBundle else { return CURLE_OK }
            results = trustFile(bundle)
        case .file(let path):
            results = trustFile(path)
        case .pem(let data):
            results =
                trustNoDirectory()
                + [CURLOPT_CAINFO_BLOB, CURLOPT_PROXY_CAINFO_BLOB].map { option in
                    data.withUnsafeBytes { cwi_curl_set_blob(easy, option, $0.baseAddress, $0.count) }
                }
        }
        return results.firstFailure
    }

    private func trustFile(_ path: String) -> [CURLcode] {
        trustNoDirectory()
            + [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO].map { cwi_curl_set_string(easy, $0, path) }
    }

    /// Removes CAPATH. Debian's build sets it, which adds to the trusted authorities and makes OpenSSL parse the bundle
    /// for each connection: 24 ms.
    private func trustNoDirectory() -> [CURLcode] {
        [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH].map { cwi_curl_set_string(easy, $0, nil) }
            // A TLS library without directories.
            .filter { $0 != CURLE_NOT_BUILT_IN }
    }

    func setMaximumHTTPVersion(_ maximum: LoaderMetrics.HTTPVersion) {
        let version =
            switch maximum {
            case .http1_0, .http1_1: CURL_HTTP_VERSION_1_1
            case .http2: CURL_HTTP_VERSION_2TLS
            case .http3: CURL_HTTP_VERSION_3
            }
        cwi_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(version))
    }

    /// Debian's and Ubuntu's file; elsewhere libcurl uses its default.
    private static let systemBundle: String? = {
        let path = "/etc/ssl/certs/ca-certificates.crt"
        return access(path, R_OK) == 0 ? path : nil
    }()
}

extension Sequence<CURLcode> {
    var firstFailure: CURLcode { first { $0 != CURLE_OK } ?? CURLE_OK }
}

/// The installed libcurl, which may differ from the one at build time.
enum CurlVersion {
    /// Why it does not start.
    static var problem: String {
        cwi_curl_problem().map { "libcurl cannot be loaded: \(String(cString: $0))" } ?? "libcurl does not start"
    }
    static let hasHTTP3 = has(CURL_VERSION_HTTP3)
    /// Whether cookies of public suffixes are rejected, for tests.
    static let hasPublicSuffixList = has(CURL_VERSION_PSL)
    static let number = cwi_curl_version().map { String(cString: $0.pointee.version) } ?? "?"

    /// Why the installed libcurl cannot offer HTTP up to `maximum`; `nil` when it can.
    static func shortcoming(
        for maximum: LoaderMetrics.HTTPVersion, hexadecimalNumber: UInt32 = hexadecimalNumber,
        hasHTTP3: Bool = hasHTTP3
    ) -> String? {
        guard hexadecimalNumber >= 0x07_5700 else {
            return "libcurl 7.87 or later is needed, and \(number) is installed"
        }
        guard maximum != .http3 || hasHTTP3 else { return "The installed libcurl \(number) was built without HTTP/3" }
        return nil
    }

    /// 0x075801 is 7.88.1.
    static let hexadecimalNumber = cwi_curl_version().map { UInt32($0.pointee.version_num) } ?? 0

    private static func has(_ feature: Int32) -> Bool {
        cwi_curl_version().map { $0.pointee.features & feature != 0 } ?? false
    }
}
