internal import CWebImageCurl
internal import FoundationEssentials
internal import Glibc

extension CurlHandle {
    /// The first failure among options that say who is trusted: such a handle must not be used, since it would go on with
    /// libcurl's defaults.
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

    /// A CAPATH, which Debian's build sets, adds to those trusted, and makes OpenSSL parse the bundle anew for each
    /// connection: 24 ms.
    private func trustNoDirectory() -> [CURLcode] {
        [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH].map { cwi_curl_set_string(easy, $0, nil) }
            // A TLS library that knows no directories has none to forget.
            .filter { $0 != CURLE_NOT_BUILT_IN }
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

extension Sequence<CURLcode> {
    var firstFailure: CURLcode { first { $0 != CURLE_OK } ?? CURLE_OK }
}

/// The libcurl that is installed, which need not be the one built against.
enum CurlVersion {
    static let hasHTTP3 = has(CURL_VERSION_HTTP3)
    static let hasPublicSuffixList = has(CURL_VERSION_PSL)
    static let number = curl_version_info(CURLVERSION_FIRST).map { String(cString: $0.pointee.version) } ?? "?"

    /// Why the installed libcurl can't do what is asked of it, in words; `nil` when it can.
    static func shortcoming(
        for versions: ImageDownloader.HTTPVersions, hexadecimalNumber: UInt32 = hexadecimalNumber,
        hasHTTP3: Bool = hasHTTP3
    ) -> String? {
        guard hexadecimalNumber >= 0x07_5700 else {
            return "libcurl 7.87 or later is needed, and \(number) is installed"
        }
        guard versions != .http3 || hasHTTP3 else { return "The installed libcurl \(number) was built without HTTP/3" }
        return nil
    }

    /// 0x075801 is 7.88.1.
    static let hexadecimalNumber = curl_version_info(CURLVERSION_FIRST).map { UInt32($0.pointee.version_num) } ?? 0

    private static func has(_ feature: Int32) -> Bool {
        curl_version_info(CURLVERSION_FIRST).map { $0.pointee.features & feature != 0 } ?? false
    }
}
