internal import CWebImageCurl

extension CurlTransfer {
    /// Whether it will be known of the body that begins here whether it is whole. A length tells, and chunks do.
    ///
    /// Without either the end of the connection is that of the body, which over TLS the server has to announce (RFC 9112, 8):
    /// else anybody on the way could cut it. libcurl does not ask for that, so this looks itself; see ``noteProgress()``.
    ///
    /// Over HTTP/2 the last frame says so, and libcurl does not tell it from a stream that the server gave up without an error.
    /// Where nobody would notice, the request is made again over HTTP/1.1, once.
    func canTellEnd(of head: TransferHead) -> Bool {
        guard request.url.scheme?.lowercased() == "https", request.method != .head,
            ![204, 304].contains(head.statusCode), head.redirectLocation == nil,
            head.contentLength == nil, head.value("transfer-encoding") == nil
        else { return true }
        guard hasFramedAnswer else {
            cwi_curl_set_long(handle.easy, CURLOPT_NOPROGRESS, 0)
            noteProgress()
            return true
        }
        guard request.needsProvenEnd else { return true }
        // libcurl takes the version from the status line: such an answer would come again, and without end.
        guard !request.usesHTTP1 else {
            headFailure = .cut
            return false
        }
        guard request.method.isSafe else { return true }
        var repetition = request
        repetition.usesHTTP1 = true
        self.repetition = repetition
        return false
    }

    /// Called after each read, the last one included.
    func noteProgress() {
        let isClosed = cwi_curl_tls_is_closed(handle.easy)
        if isClosed >= 0 { isEndAnnounced = isClosed > 0 }
    }
}

/// The origins whose answers over HTTP/2 name no length.
struct LengthlessOrigins {
    private var origins: Set<HTTPOrigin> = []

    private static let limit = 256

    /// Asks over HTTP/1.1 what would be asked again otherwise, or could not be.
    func directed(_ request: TransferRequest) -> TransferRequest {
        guard request.needsProvenEnd, request.url.scheme?.lowercased() == "https" else { return request }
        var request = request
        if !request.method.isSafe || HTTPOrigin(request.url).map(origins.contains) == true { request.usesHTTP1 = true }
        return request
    }

    mutating func note(_ request: TransferRequest) {
        guard request.usesHTTP1, request.method.isSafe, let origin = HTTPOrigin(request.url) else { return }
        if origins.count >= Self.limit { origins = [] }
        origins.insert(origin)
    }
}
