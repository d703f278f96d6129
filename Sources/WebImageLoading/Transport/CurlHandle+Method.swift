internal import CWebImageCurl
internal import FoundationEssentials

extension CurlHandle {
    /// Says what the exchange asks for.
    func setMethod(_ method: LoaderRequest.Method, body: Data?) {
        switch method {
        case .head: cwi_curl_set_long(easy, CURLOPT_NOBODY, 1)
        case .get: cwi_curl_set_long(easy, CURLOPT_HTTPGET, 1)
        default:
            if let body = body ?? (method.expectsBody ? Data() : nil) {
                // The count first: without it libcurl takes the bytes for a string.
                cwi_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
                body.withUnsafeBytes { bytes in
                    // NULL would be no body at all.
                    withUnsafeBytes(of: 0) { none in
                        _ = cwi_curl_set_bytes(easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? none.baseAddress)
                    }
                }
            } else {
                cwi_curl_set_long(easy, CURLOPT_HTTPGET, 1)
            }
            cwi_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, method.rawValue)
        }
    }
}

extension CurlTransfer {
    /// Lines that keep libcurl from sending what nobody has asked for: a body's type as if it were a form's, and `Expect`,
    /// with which it waits a second for servers that do not know it.
    static func linesWithoutDefaults(for request: TransferRequest) -> [String] {
        guard request.body != nil || request.method.expectsBody else { return [] }
        let names = Set(request.headers.map { $0.name.lowercased() })
        return ["Content-Type", "Expect"].filter { !names.contains($0.lowercased()) }.map { $0 + ":" }
    }
}
