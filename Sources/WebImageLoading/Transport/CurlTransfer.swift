internal import CWebImageCurl
internal import FoundationEssentials
internal import WebImageCore

/// An easy handle with all the options that are the same for each transfer. Used on the network thread alone.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    /// Why nothing may be sent with it: it does not trust whom it should.
    private(set) var trustResult = CURLE_OK
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// `nil` when libcurl has no memory.
    init?(_ configuration: CurlTransport.Configuration) {
        guard let easy = curl_easy_init() else {
            errorText.deallocate()
            return nil
        }
        self.easy = easy
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        cwi_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        cwi_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // No SIGALRM for name look-ups: signals and threads do not mix.
        cwi_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        cwi_curl_set_open_socket_callback(easy) { context, _, target in
            guard let target else { return curl_socket_t(CURL_SOCKET_BAD) }
            return CurlTransfer.from(context)?.openSocket(target) ?? curl_socket_t(CURL_SOCKET_BAD)
        }
        // A cancel during a look-up does not wait for the resolver, on this thread, until it gives up.
        cwi_curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
        cwi_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        cwi_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        setHTTPVersions(configuration.httpVersions)
        cwi_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.connectTimeout.inMilliseconds))
        trustResult = trust(configuration.certificateAuthorities)
        cwi_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            CurlTransfer.from(context)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }
        cwi_curl_set_data_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            CurlTransfer.from(context)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }
        cwi_curl_set_connected_callback(easy) { context, address, _, _, _ in
            CurlTransfer.from(context)?.didConnect(to: address) == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
    }

    deinit {
        curl_easy_cleanup(easy)
        errorText.deallocate()
    }

    /// libcurl's words for a failure; the general ones when it has none for this transfer.
    func message(for result: CURLcode) -> String {
        errorText.pointee == 0 ? String(cString: curl_easy_strerror(result)) : String(cString: errorText)
    }

    func clearMessage() { errorText.pointee = 0 }

    func info(_ info: CURLINFO) -> Int { cwi_curl_get_long(easy, info) }
}

/// One exchange while libcurl runs it. Used on the network thread alone.
final class CurlTransfer {
    let handle: CurlHandle
    let receiver: any TransferReceiver
    /// When bytes came last, on the monotonic clock in milliseconds; `nil` until a connection is there.
    private var lastActivity: Int64?
    private let idleLimit: Int64
    /// Of the body, when it was last looked at.
    private var sentByteCount: Int64 = 0
    /// libcurl keeps a piece that the receiver did not take, and asks the connection for no more.
    private var isPaused = false
    /// What libcurl gave back when it went on, and the receiver did not take. Each time libcurl goes on it opens the window
    /// of an HTTP/2 stream anew, 32 MiB, whatever it still keeps; so it goes on only once this is empty.
    private var leftovers: [Data] = []
    private var isGoingOn = false
    /// How libcurl ended, while the receiver has not taken everything.
    private var heldResult: CURLcode?

    private var parser = TransferHeadParser()
    private var isStopped = false
    private var isHeadHeld = false
    private var hasTooLongHead = false
    /// Kept by libcurl, not copied.
    private var lists: [UnsafeMutablePointer<curl_slist>?] = []
    private let access: TransferAccess
    /// `nil` where every address will do, and with a proxy, whose address is not the policy's business.
    let addressCheck: AddressCheck?
    private var blockCause: WebImageError.BlockCause?
    /// Why it must not begin: libcurl did not take who is to be trusted.
    private(set) var refusal: TransferEnd?

    init(
        _ request: TransferRequest, handle: CurlHandle, receiver: any TransferReceiver, addressCheck: AddressCheck?,
        cookies: CurlCookieStore
    ) {
        self.handle = handle
        self.receiver = receiver
        access = request.access
        self.addressCheck = request.access.proxy == nil ? addressCheck : nil
        idleLimit = request.idleTimeout.inMilliseconds
        handle.clearMessage()
        let easy = handle.easy
        handle.setMethod(request.method, body: request.body)
        // Any value makes it decode; what is asked for stands in the headers.
        cwi_curl_set_string(easy, CURLOPT_ACCEPT_ENCODING, request.decodesContent ? "gzip" : nil)
        cwi_curl_set_long(
            easy, CURLOPT_BUFFERSIZE, request.decodesContent ? Self.codedPieceByteCount : Self.pieceByteCount)
        cwi_curl_set_string(easy, CURLOPT_URL, request.url.absoluteString)
        // Over plain HTTP/1.1 it would hold back transfers until the first has its answer.
        cwi_curl_set_long(easy, CURLOPT_PIPEWAIT, request.url.scheme?.lowercased() == "https" ? 1 : 0)
        let grantResult = handle.grant(access, for: request.url, cookies: cookies)
        refusal = Self.refusal(trust: handle.trustResult, access: grantResult)
        var headers = request.headers
        if access.usesCookies, let index = headers.firstIndex(where: { $0.name.lowercased() == "cookie" }) {
            // As a header it would take the place of the jar's.
            cwi_curl_set_string(easy, CURLOPT_COOKIE, headers.remove(at: index).value)
        }
        setList(CURLOPT_HTTPHEADER, headers.map(Self.line) + Self.linesWithoutDefaults(for: request))
        setList(CURLOPT_PROXYHEADER, access.proxyHeaders.map(Self.line))
        setList(
            CURLOPT_RESOLVE, CurlHandle.resolveEntry(for: request.url, addresses: access.addresses).map { [$0] } ?? [])
        // Unretained: the engine keeps the transfer until it has removed the handle.
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA, CURLOPT_OPENSOCKETDATA] {
            cwi_curl_set_pointer(easy, option, context)
        }
    }

    deinit { lists.forEach { curl_slist_free_all($0) } }

    /// What is read from a connection at once; libcurl's own 16 KB cost three times the CPU.
    private static let pieceByteCount = 256 << 10
    /// The same for a coded body: decoded, at most 1032 times as much, it lies in memory while the transfer is paused.
    private static let codedPieceByteCount = 4 << 10

    /// Takes everything of this transfer out of the handle. `false` when the handle still remembers something: libcurl
    /// would go on with a Digest nonce at the next server.
    func detach() -> Bool {
        for option in [
            CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_HTTPHEADER,
        ] {
            cwi_curl_set_pointer(handle.easy, option, nil)
        }
        handle.withdrawMethod()
        handle.withdrawAccess()
        return !access.isNegotiated
    }

    private func setList(_ option: CURLoption, _ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { list = curl_slist_append(list, line) ?? list }
        lists.append(list)
        cwi_curl_set_pointer(handle.easy, option, list)
    }

    /// `Name;` is how libcurl is told of a header without a value.
    private static func line(_ field: HTTPField) -> String {
        field.value.isEmpty ? field.name + ";" : field.name + ": " + field.value
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Whether the request may be sent.
    func didConnect(to address: UnsafePointer<CChar>?) -> Bool {
        lastActivity = MonotonicClock.milliseconds
        guard mayUseConnection(to: address) else { return false }
        // Another of the host's addresses was forbidden; what goes wrong from here on has nothing to do with that.
        blockCause = nil
        return true
    }

    /// How many the jar may have taken.
    var receivedCookieCount: Int {
        guard access.usesCookies else { return 0 }
        let fields = parser.head.fields + parser.head.answeredFields
        return fields.count { $0.name.lowercased() == "set-cookie" }
    }

    func block(_ cause: WebImageError.BlockCause) { blockCause = cause }

    /// When it has been idle for too long, on the same clock; `nil` while that can't be, as when the receiver takes nothing.
    var idleDeadline: Int64? {
        guard let lastActivity, !isPaused, leftovers.isEmpty, receiver.takesBytes else { return nil }
        return lastActivity + idleLimit
    }

    /// Whether nothing has gone either way for too long. libcurl does not tell when bytes go out, only how many have.
    func isIdle(at now: Int64) -> Bool {
        guard let idleDeadline, idleDeadline <= now else { return false }
        let byteCount = Int64(cwi_curl_get_offset(handle.easy, CURLINFO_SIZE_UPLOAD_T))
        guard byteCount > sentByteCount else { return true }
        (sentByteCount, lastActivity) = (byteCount, now)
        return false
    }

    /// Offers the receiver again what it did not take; the end, if that fails.
    func resume() -> TransferEnd? {
        lastActivity = lastActivity.map { _ in MonotonicClock.milliseconds }
        while receiver.takesBytes, !leftovers.isEmpty {
            guard proceeds(receiver.transferDidReceive(leftovers.removeFirst())) else { return .stopped }
        }
        guard leftovers.isEmpty else { return nil }
        if let heldResult { return end(for: heldResult) }
        guard isPaused else { return nil }
        isPaused = false
        isGoingOn = true
        let result = curl_easy_pause(handle.easy, CURLPAUSE_CONT)
        isGoingOn = false
        return result == CURLE_OK ? nil : end(for: result)
    }

    /// Keeps the result of a transfer whose last bytes are not taken yet; `false` when there are none.
    func holds(_ result: CURLcode) -> Bool {
        guard !leftovers.isEmpty else { return false }
        heldResult = result
        return true
    }

    /// Returns the count it took: another one than it got ends the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        lastActivity = MonotonicClock.milliseconds
        if isHeadHeld, line.starts(with: "HTTP/".utf8) {
            parser.beginNextHead()
            isHeadHeld = false
        }
        switch parser.append(line) {
        case .incomplete: return line.count
        case .complete where access.isNegotiated && [401, 407].contains(parser.head.statusCode):
            // libcurl may answer this one itself. What comes next tells: another head, or the body of this.
            isHeadHeld = true
            return line.count
        case .complete: return proceeds(receiver.transferDidReceive(parser.head)) ? line.count : 0
        case .tooLong:
            hasTooLongHead = true
            return 0
        }
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = MonotonicClock.milliseconds
        deliverHeldHead()
        guard !isStopped else { return 0 }
        guard receiver.takesBytes, leftovers.isEmpty else {
            if isGoingOn {
                leftovers.append(Data(bytes))
                return bytes.count
            }
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        return proceeds(receiver.transferDidReceive(Data(bytes))) ? bytes.count : 0
    }

    func end(for result: CURLcode) -> TransferEnd {
        deliverHeldHead()
        if isStopped { return .stopped }
        if result != CURLE_OK, let blockCause { return .blocked(blockCause) }
        if let failure = trustFailure(for: result) { return failure }
        if hasTooLongHead || !parser.isComplete && Self.lineLimitResults.contains(result.rawValue) {
            return .headTooLong(limit: TransferHeadParser.byteLimit)
        }
        if result == CURLE_OK, !parser.isComplete {
            // libcurl takes a head that stops in the middle for an answer without a body.
            let code = Int(CURLE_GOT_NOTHING.rawValue)
            return .failed(code: code, message: "The connection ended in the middle of the headers")
        }
        return switch result {
        case CURLE_OK: .complete
        case CURLE_PARTIAL_FILE: .cut
        case CURLE_URL_MALFORMAT: .malformedURL
        case CURLE_OPERATION_TIMEDOUT: .connectTimedOut
        default: .failed(code: Int(result.rawValue), message: handle.message(for: result))
        }
    }

    /// What libcurl says when one line is longer than the 100 KiB it allows itself: out of memory in old versions,
    /// CURLE_TOO_LARGE since 8.6.
    private static let lineLimitResults: Set = [CURLE_OUT_OF_MEMORY.rawValue, 100]

    private func deliverHeldHead() {
        guard isHeadHeld else { return }
        isHeadHeld = false
        _ = proceeds(receiver.transferDidReceive(parser.head))
    }

    private func proceeds(_ disposition: TransferDisposition) -> Bool {
        if disposition == .stop { isStopped = true }
        return !isStopped
    }
}
