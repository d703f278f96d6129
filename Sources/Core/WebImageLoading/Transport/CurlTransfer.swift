internal import CWebImageCurl
internal import FoundationEssentials
internal import WebImageCore

/// An easy handle for one transfer, with the options that are the same for all. Used on the network thread only.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    /// Why nothing may be sent: the authorities could not be set.
    private(set) var trustResult = CURLE_OK
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// Kept by libcurl, not copied.
    private var lists: [UnsafeMutablePointer<curl_slist>?] = []

    /// `nil` when libcurl has no memory.
    init?(_ configuration: CurlTransport.Configuration) {
        guard let easy = cwi_curl_easy_init() else {
            errorText.deallocate()
            return nil
        }
        self.easy = easy
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        cwi_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        cwi_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // No SIGALRM for name lookups: signals and threads do not mix.
        cwi_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        cwi_curl_set_open_socket_callback(easy) { context, _, target in
            guard let target else { return curl_socket_t(CURL_SOCKET_BAD) }
            return CurlTransfer.from(context)?.openSocket(target) ?? curl_socket_t(CURL_SOCKET_BAD)
        }
        // A cancel during a lookup does not wait for the resolver, on this thread, until it fails.
        cwi_curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
        cwi_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        cwi_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        setMaximumHTTPVersion(configuration.maximumHTTPVersion)
        cwi_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.connectTimeout.inMilliseconds))
        trustResult = trust(configuration.certificateAuthorities)
        cwi_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            CurlTransfer.from(context)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }
        cwi_curl_set_data_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            CurlTransfer.from(context)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }
        cwi_curl_set_connected_callback(easy) { context, address, _, remotePort, localPort in
            let ports = (remote: Int(remotePort), local: Int(localPort))
            let isUsable = CurlTransfer.from(context)?.didConnect(to: address, ports: ports) == true
            return isUsable ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        cwi_curl_set_progress_callback(easy) { context, _, _, _, _ in
            CurlTransfer.from(context)?.noteProgress()
            return 0
        }
    }

    deinit {
        cwi_curl_easy_cleanup(easy)
        errorText.deallocate()
        lists.forEach { cwi_curl_slist_free($0) }
    }

    /// The option has no list yet.
    func setList(_ option: CURLoption, _ lines: [String]) {
        guard !lines.isEmpty else { return }
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { list = cwi_curl_slist_append(list, line) ?? list }
        lists.append(list)
        cwi_curl_set_pointer(easy, option, list)
    }

    /// libcurl's message for a failure.
    func message(for result: CURLcode) -> String {
        errorText.pointee == 0 ? String(cString: cwi_curl_easy_text(result)) : String(cString: errorText)
    }

    func info(_ info: CURLINFO) -> Int { cwi_curl_get_long(easy, info) }
}

/// One exchange in libcurl. Used on the network thread only.
final class CurlTransfer {
    let handle: CurlHandle
    let receiver: any TransferReceiver
    private var clock: TransferClock
    /// Without informational responses.
    private var headByteCount: Int64 = 0
    /// Whether libcurl keeps a piece that the receiver did not take, and reads no more.
    private var isPaused = false
    /// The pieces that libcurl delivered when it resumed and the receiver did not take. At each resume, libcurl opens
    /// the window of an HTTP/2 stream again, 32 MiB, regardless of what it keeps. It therefore resumes only once these
    /// are taken.
    private var leftovers: [Data] = []
    private var isResuming = false
    /// libcurl's result, while the receiver has not taken everything.
    private var heldResult: CURLcode?

    private(set) var parser = TransferHeadParser()
    private var isStopped = false
    private var isHeadHeld = false
    /// The encryption of the connection, once it is known.
    private(set) var security: LoaderMetrics.Security?
    /// Why the head was refused.
    var headFailure: TransferEnd?
    let request: TransferRequest
    private var access: TransferAccess { request.access }
    let sockets: CurlSocketTable
    /// The socket in use, once it is known.
    var connection: CurlSocket?
    /// The request to send instead, once libcurl has ended this one. The receiver is not told.
    var repetition: TransferRequest?
    /// Whether the server has announced the end of the connection; `nil` if it does not matter or is unknown.
    var isEndAnnounced: Bool?
    /// `nil` if all addresses are allowed, and with a proxy, whose address is not checked.
    let addressCheck: AddressCheck?
    private var blockCause: WebImageError.BlockReason?
    /// Why it must not start: libcurl refused an option about trust.
    private(set) var refusal: TransferEnd?

    init(
        _ request: TransferRequest, handle: CurlHandle, receiver: any TransferReceiver, addressCheck: AddressCheck?,
        share: CurlShare?, sockets: CurlSocketTable
    ) {
        self.handle = handle
        self.receiver = receiver
        self.request = request
        self.sockets = sockets
        self.addressCheck = request.access.proxy == nil ? addressCheck : nil
        clock = TransferClock(request.limits, now: MonotonicClock.milliseconds)
        let easy = handle.easy
        handle.setMethod(request.method, body: request.body)
        // Any value enables decoding; the headers say what is requested.
        cwi_curl_set_string(easy, CURLOPT_ACCEPT_ENCODING, request.decodesContent ? "gzip" : nil)
        cwi_curl_set_long(
            easy, CURLOPT_BUFFERSIZE, request.decodesContent ? Self.codedPieceByteCount : Self.pieceByteCount)
        cwi_curl_set_string(easy, CURLOPT_URL, request.url.absoluteString)
        // Over plain HTTP/1.1 it would delay transfers until the first has its response.
        cwi_curl_set_long(easy, CURLOPT_PIPEWAIT, request.url.scheme?.lowercased() == "https" ? 1 : 0)
        if request.usesHTTP1 { handle.setMaximumHTTPVersion(.http1_1) }
        if request.usesNewConnection { cwi_curl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) }
        share?.join(easy)
        let grantResult = handle.grant(access)
        refusal = Self.refusal(trust: handle.trustResult, access: grantResult) ?? Self.refusal(of: request)
        var headers = request.headers
        if access.usesCookies, let index = headers.firstIndex(where: { $0.isNamed("cookie") }) {
            // As a header it would replace the jar's.
            cwi_curl_set_string(easy, CURLOPT_COOKIE, headers.remove(at: index).value)
        }
        handle.setList(CURLOPT_HTTPHEADER, headers.map(Self.line) + Self.linesWithoutDefaults(for: request))
        handle.setList(CURLOPT_PROXYHEADER, access.proxyHeaders.map(Self.line))
        handle.setList(
            CURLOPT_RESOLVE, CurlHandle.resolveEntry(for: request.url, addresses: access.addresses).map { [$0] } ?? [])
        // Unretained: the engine keeps the transfer until it has removed the handle.
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_XFERINFODATA,
        ] {
            cwi_curl_set_pointer(easy, option, context)
        }
    }

    /// The maximum number of bytes to read from a connection at once. libcurl's default of 16 KB costs three times the
    /// CPU.
    private static let pieceByteCount = 256 << 10
    /// The same for a coded body. Decoded, at most 1032 times as much is in memory while the transfer is paused.
    private static let codedPieceByteCount = 4 << 10

    /// libcurl's form for a header without a value is `Name;`.
    private static func line(_ field: HTTPHeader) -> String {
        field.value.isEmpty ? field.name + ";" : field.name + ": " + field.value
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Returns whether the request may be sent.
    func didConnect(to address: UnsafePointer<CChar>?, ports: (remote: Int, local: Int)) -> Bool {
        clock.noteConnection(at: MonotonicClock.milliseconds, isHeld: isHeld)
        guard mayUseConnection(to: address), isConnectionClean(to: address, ports: ports) else {
            return false
        }
        // Another address of the host was forbidden, which does not explain later failures.
        blockCause = nil
        if request.url.scheme?.lowercased() == "https" { security = LoaderMetrics.Security(of: handle.easy) }
        return true
    }

    /// The number of cookies that the jar may have received.
    var receivedCookieCount: Int {
        guard access.usesCookies else { return 0 }
        let fields = parser.head.fields + parser.head.answeredFields
        return fields.count { $0.isNamed("set-cookie") }
    }

    func block(_ cause: WebImageError.BlockReason) { blockCause = cause }

    private var isHeld: Bool { isPaused || !leftovers.isEmpty || !receiver.takesBytes }

    /// When a time limit may be reached, on the monotonic clock in milliseconds; `nil` while none can be, as during a
    /// pause.
    var deadline: Int64? { isHeld ? nil : clock.deadline }

    /// Returns the time limit that has been reached; `nil` for none.
    func exceededLimit(at now: Int64) -> TransferLimits.Kind? {
        let isHeld = isHeld
        clock.advance(to: now, isHeld: isHeld)
        guard !isHeld else { return nil }
        let (easy, headByteCount) = (handle.easy, headByteCount)
        return clock.exceededLimit(
            sent: { Int64(cwi_curl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T)) },
            received: { headByteCount + Int64(cwi_curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T)) })
    }

    /// Returns how long it has run, without pauses.
    func activeDuration(at now: Int64) -> Duration {
        clock.advance(to: now, isHeld: isHeld)
        return .milliseconds(clock.elapsed)
    }

    /// Offers the receiver again what it did not take; returns the end if that fails.
    func resume() -> TransferEnd? {
        clock.noteResumption(at: MonotonicClock.milliseconds)
        while receiver.takesBytes, !leftovers.isEmpty {
            guard proceeds(receiver.transferDidReceive(leftovers.removeFirst())) else { return .stopped }
        }
        guard leftovers.isEmpty else { return nil }
        if let heldResult { return end(for: heldResult) }
        guard isPaused else { return nil }
        isPaused = false
        isResuming = true
        let result = cwi_curl_easy_pause(handle.easy, CURLPAUSE_CONT)
        isResuming = false
        return result == CURLE_OK ? nil : end(for: result)
    }

    /// Keeps the result of a transfer whose last bytes are not taken yet; returns `false` if all are.
    func holds(_ result: CURLcode) -> Bool {
        guard !leftovers.isEmpty else { return false }
        heldResult = result
        return true
    }

    /// Returns the number of bytes taken. A number other than the line's length ends the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        if isHeadHeld, line.starts(with: "HTTP/".utf8) {
            parser.beginNextHead()
            isHeadHeld = false
        }
        let outcome = parser.append(line)
        // Otherwise a server could make the transfer wait forever.
        if !parser.isInformational {
            headByteCount += Int64(line.count)
            clock.noteActivity(at: MonotonicClock.milliseconds, isHeld: isHeld)
        }
        if outcome == .complete { noteFraming() }
        switch outcome {
        case .incomplete: return line.count
        case .complete where access.isNegotiated && [401, 407].contains(parser.head.statusCode):
            // libcurl may repeat the request itself. Next comes another head, or the body of this one.
            isHeadHeld = true
            return line.count
        case .complete where !canTellEnd(of: parser.head): return 0
        case .complete: return proceeds(receiver.transferDidReceive(parser.head)) ? line.count : 0
        case .tooLong:
            headFailure = .headTooLong(limit: TransferHeadParser.byteLimit)
            return 0
        case .tooManyInformational:
            headFailure = .tooManyInformationalResponses(limit: TransferHeadParser.informationalLimit)
            return 0
        }
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        clock.noteActivity(at: MonotonicClock.milliseconds, isHeld: isHeld)
        deliverHeldHead()
        guard !isStopped, repetition == nil, headFailure == nil else { return 0 }
        guard receiver.takesBytes, leftovers.isEmpty else {
            if isResuming {
                leftovers.append(Data(bytes))
                return bytes.count
            }
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        return proceeds(receiver.transferDidReceive(Data(bytes))) ? bytes.count : 0
    }

    /// Returns how the transfer ends, unless ``repetition`` is set, possibly by this call.
    func end(for result: CURLcode) -> TransferEnd {
        deliverHeldHead()
        if isStopped { return .stopped }
        if result != CURLE_OK, let blockCause { return .blocked(blockCause) }
        if let failure = trustFailure(for: result) { return failure }
        if let headFailure { return headFailure }
        if !parser.isComplete && Self.lineLimitResults.contains(result.rawValue) {
            return .headTooLong(limit: TransferHeadParser.byteLimit)
        }
        if result == CURLE_OK, !parser.isComplete {
            // libcurl takes an incomplete head for a response without a body.
            let code = Int(CURLE_GOT_NOTHING.rawValue)
            return .failed(code: code, message: "The connection ended in the middle of the headers")
        }
        if result == CURLE_BAD_CONTENT_ENCODING, !parser.isComplete,
            let coding = Self.refusedTransferCoding(in: handle.message(for: result))
        {
            return .transferCodingRefused(coding)
        }
        return switch result {
        case CURLE_OK where isEndAnnounced == false: .interrupted
        // libcurl 8.14 reports this.
        case CURLE_RECV_ERROR where isEndAnnounced == false && parser.isComplete: .interrupted
        case CURLE_OK: .complete
        case CURLE_PARTIAL_FILE: .interrupted
        case CURLE_URL_MALFORMAT: .malformedURL
        case CURLE_OPERATION_TIMEDOUT: .connectTimedOut
        default: .failed(code: Int(result.rawValue), message: handle.message(for: result))
        }
    }

    /// libcurl's results for a line longer than its limit of 100 KiB: out of memory in old versions, CURLE_TOO_LARGE
    /// since 8.6.
    private static let lineLimitResults: Set = [CURLE_OUT_OF_MEMORY.rawValue, 100]

    /// Newer versions of libcurl, such as 8.14, refuse a transfer coding before they pass on the header. Only their
    /// message names it: "Unsolicited Transfer-Encoding (gzip) found", "A Transfer-Encoding (gzip) was listed after
    /// chunked".
    private static func refusedTransferCoding(in message: String) -> String? {
        guard message.contains("Transfer-Encoding"), let start = message.firstIndex(of: "("),
            let end = message.lastIndex(of: ")"), start < end
        else { return nil }
        return TransferHead.codings(in: String(message[start..<end].dropFirst())).first
    }

    private func deliverHeldHead() {
        guard isHeadHeld, repetition == nil else { return }
        isHeadHeld = false
        guard canTellEnd(of: parser.head) else { return }
        _ = proceeds(receiver.transferDidReceive(parser.head))
    }

    private func proceeds(_ disposition: TransferDisposition) -> Bool {
        if disposition == .stop { isStopped = true }
        return !isStopped
    }
}

extension CurlTransfer {
    /// Returns whether the end of the body will be known. A length tells it, and chunks do.
    ///
    /// Without either, the body ends with the connection. Over TLS the server has to announce that end (RFC 9112, 8),
    /// or a third party could truncate the body. libcurl does not check it, so this does; see ``noteProgress()``.
    ///
    /// Over HTTP/2 the last frame marks the end, but libcurl does not tell it from a stream that the server aborted
    /// without an error. Where nothing else would detect that, the request is repeated over HTTP/1.1, once.
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
        // libcurl takes the version from the status line: such a response would be repeated without end.
        guard !request.usesHTTP1 else {
            headFailure = .interrupted
            return false
        }
        guard request.method.isSafe else { return true }
        var repetition = request
        repetition.usesHTTP1 = true
        self.repetition = repetition
        return false
    }

    /// Called after each read, including the last.
    func noteProgress() {
        let isClosed = cwi_curl_tls_is_closed(handle.easy)
        if isClosed >= 0 { isEndAnnounced = isClosed > 0 }
    }
}

/// The origins whose responses over HTTP/2 have no length.
struct LengthlessOrigins {
    private var origins: Set<HTTPOrigin> = []

    private static let limit = 256

    /// Sends a request over HTTP/1.1 if it would have to be repeated otherwise, or cannot be.
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

extension CurlTransfer {
    /// Returns whether the next bytes on the connection can only be the response to this request.
    ///
    /// Bytes that a server sends on an idle connection would be taken for the response to the next request, and cached
    /// as it. libcurl 7.88 does not detect them; 8.14 detects them on the socket, but not those already decrypted. A
    /// connection that has some, or is closed, is not used: the request is sent over a new one. Tickets of TLS 1.3
    /// servers are no such bytes: they come before the first response and are read with it.
    func isConnectionClean(to address: UnsafePointer<CChar>?, ports: (remote: Int, local: Int)) -> Bool {
        let found = sockets.sockets(
            localPort: ports.local, remote: address.flatMap { IPAddress(String(cString: $0)) }, port: ports.remote)
        // Another request of this transfer, such as the one with the credential, may use the same connection.
        let isOld = handle.info(CURLINFO_NUM_CONNECTS) == 0 || found.contains { $0 === connection }
        leaveConnection()
        let isClean = !isOld || found.allSatisfy(isClean)
        if isClean, let socket = found.first {
            socket.transferCount += 1
            connection = socket
        }
        if !isClean, !request.usesNewConnection {
            var repetition = request
            repetition.usesNewConnection = true
            self.repetition = repetition
        }
        return isClean
    }

    private func isClean(_ socket: CurlSocket) -> Bool {
        // Before the first response only a multiplexed connection can carry a second request.
        if socket.isMultiplexed ?? (socket.transferCount > 0) { return true }
        return cwi_curl_tls_pending(handle.easy) <= 0 && socket.isSilent
    }

    /// Records the kind of connection that the head came over.
    func noteFraming() {
        if let connection, connection.isMultiplexed == nil { connection.isMultiplexed = hasFramedAnswer }
    }

    /// Records that the transfer no longer uses its connection.
    func leaveConnection() {
        guard let socket = connection else { return }
        connection = nil
        socket.transferCount -= 1
    }

    /// Whether the response came over HTTP/2 or HTTP/3.
    var hasFramedAnswer: Bool {
        let version = handle.info(CURLINFO_HTTP_VERSION)
        return version == Int(CURL_HTTP_VERSION_2_0) || version == Int(CURL_HTTP_VERSION_3)
    }
}
