internal import CWebImageCurl
internal import FoundationEssentials
internal import Glibc

extension CurlHandle {
    func trust(_ authorities: CertificateAuthorities) {
        switch authorities {
        case .system:
            guard let bundle = Self.systemBundle else { return }
            trustFile(bundle)
        case .file(let path):
            trustFile(path)
        case .pem(let data):
            cwi_curl_set_string(easy, CURLOPT_CAPATH, nil)
            for option in [CURLOPT_CAINFO_BLOB, CURLOPT_PROXY_CAINFO_BLOB] {
                data.withUnsafeBytes { _ = cwi_curl_set_blob(easy, option, $0.baseAddress, $0.count) }
            }
        }
    }

    private func trustFile(_ path: String) {
        // A CAPATH, which Debian's build sets, makes OpenSSL parse the bundle anew for each connection: 24 ms.
        for option in [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH] { cwi_curl_set_string(easy, option, nil) }
        for option in [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO] { cwi_curl_set_string(easy, option, path) }
    }

    func setHTTPVersions(_ versions: ImageDownloader.HTTPVersions) {
        let version =
            switch versions {
            case .automatic: CURL_HTTP_VERSION_2TLS
            case .http1: CURL_HTTP_VERSION_1_1
            case .http3: CURL_HTTP_VERSION_3
            }
        cwi_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(version))
    }

    /// Debian's and Ubuntu's file; elsewhere libcurl's own default stands.
    private static let systemBundle: String? = {
        let path = "/etc/ssl/certs/ca-certificates.crt"
        return access(path, R_OK) == 0 ? path : nil
    }()
}

/// The libcurl that is installed, which need not be the one built against.
enum CurlVersion {
    static let hasHTTP3 = has(CURL_VERSION_HTTP3)
    static let hasPublicSuffixList = has(CURL_VERSION_PSL)
    static let number = curl_version_info(CURLVERSION_FIRST).map { String(cString: $0.pointee.version) } ?? "?"

    private static func has(_ feature: Int32) -> Bool {
        curl_version_info(CURLVERSION_FIRST).map { $0.pointee.features & feature != 0 } ?? false
    }
}
