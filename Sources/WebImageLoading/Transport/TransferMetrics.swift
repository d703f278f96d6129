internal import CWebImageCurl

/// What the transport measured of one exchange. Times count from its start; those of phases that did not happen, as on a
/// connection used again, are zero.
package struct TransferMetrics: Sendable, Equatable {
    package var nameLookup = Duration.zero
    package var connect = Duration.zero
    package var secure = Duration.zero
    package var firstByte = Duration.zero
    package var total = Duration.zero
    /// How long it took, without the time during which the receiver held it back.
    package var active = Duration.zero
    package var isConnectionReused = false
    package var httpVersion: LoaderMetrics.HTTPVersion?
    package var remoteAddress: String?
    package var remotePort: Int?
    package var headerByteCount: Int64 = 0
    /// As it came over the wire, without the framing of chunks.
    package var bodyByteCount: Int64 = 0

    package init() {}
}

extension TransferMetrics {
    /// Reads them from a handle, which must not have been reset since.
    init(of easy: UnsafeMutableRawPointer) {
        func time(_ info: CURLINFO) -> Duration { .microseconds(cwi_curl_get_offset(easy, info)) }
        nameLookup = time(CURLINFO_NAMELOOKUP_TIME_T)
        connect = time(CURLINFO_CONNECT_TIME_T)
        secure = time(CURLINFO_APPCONNECT_TIME_T)
        firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
        total = time(CURLINFO_TOTAL_TIME_T)
        httpVersion = LoaderMetrics.HTTPVersion(curlVersion: cwi_curl_get_long(easy, CURLINFO_HTTP_VERSION))
        let hasConnection = cwi_curl_get_offset(easy, CURLINFO_PRETRANSFER_TIME_T) > 0
        isConnectionReused = hasConnection && cwi_curl_get_long(easy, CURLINFO_NUM_CONNECTS) == 0
        remoteAddress = cwi_curl_get_string(easy, CURLINFO_PRIMARY_IP).map { String(cString: $0) }
        if remoteAddress?.isEmpty == true { remoteAddress = nil }
        let port = cwi_curl_get_long(easy, CURLINFO_PRIMARY_PORT)
        remotePort = port > 0 ? port : nil
        headerByteCount = Int64(cwi_curl_get_long(easy, CURLINFO_HEADER_SIZE))
        bodyByteCount = Int64(cwi_curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T))
    }
}

extension LoaderMetrics.HTTPVersion {
    fileprivate init?(curlVersion: Int) {
        switch curlVersion {
        case Int(CURL_HTTP_VERSION_1_0): self = .http1_0
        case Int(CURL_HTTP_VERSION_1_1): self = .http1_1
        case Int(CURL_HTTP_VERSION_2_0): self = .http2
        case Int(CURL_HTTP_VERSION_3): self = .http3
        default: return nil
        }
    }
}
