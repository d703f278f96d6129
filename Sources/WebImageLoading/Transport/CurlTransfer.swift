internal import CWebImageCurl
internal import FoundationEssentials
internal import Glibc

/// An easy handle with all the options that are the same for each transfer. Used on the network thread alone.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
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
        cwi_curl_set_sockets_close_on_exec(easy)
        cwi_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        cwi_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        cwi_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        cwi_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.connectTimeout.inMilliseconds))
        if !configuration.usesEnvironmentProxy { cwi_curl_set_string(easy, CURLOPT_PROXY, "") }
        if let bundle = Self.certificateBundle {
            // A CAPATH, which Debian's build sets, makes OpenSSL parse the bundle anew for each connection: 24 ms.
            cwi_curl_set_string(easy, CURLOPT_CAPATH, nil)
            cwi_curl_set_string(easy, CURLOPT_CAINFO, bundle)
        }
        cwi_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            CurlTransfer.from(context)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }
        cwi_curl_set_data_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            CurlTransfer.from(context)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }
        cwi_curl_set_connected_callback(easy) { context, _, _, _, _ in
            CurlTransfer.from(context)?.didConnect()
            return CURL_PREREQFUNC_OK
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

    /// Debian's and Ubuntu's file; elsewhere libcurl's own default stands.
    private static let certificateBundle: String? = {
        let path = "/etc/ssl/certs/ca-certificates.crt"
        return access(path, R_OK) == 0 ? path : nil
    }()
}

/// One exchange while libcurl runs it. Used on the network thread alone.
final class CurlTransfer {
    let handle: CurlHandle
    let receiver: any TransferReceiver
    /// When bytes came last, on the monotonic clock in milliseconds; `nil` until a connection is there.
    private var lastActivity: Int64?
    private let idleLimit: Int64
    /// libcurl keeps a piece that the receiver did not take, and asks the connection for no more.
    private var isPaused = false

    private var parser = TransferHeadParser()
    private var isStopped = false
    private var hasTooLongHead = false
    /// Kept by libcurl, not copied.
    private var headerList: UnsafeMutablePointer<curl_slist>?

    init(_ request: TransferRequest, handle: CurlHandle, receiver: any TransferReceiver) {
        self.handle = handle
        self.receiver = receiver
        idleLimit = request.idleTimeout.inMilliseconds
        handle.clearMessage()
        let easy = handle.easy
        cwi_curl_set_long(easy, request.method == .head ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1)
        // Any value makes it decode; what is asked for stands in the headers.
        cwi_curl_set_string(easy, CURLOPT_ACCEPT_ENCODING, request.decodesContent ? "gzip" : nil)
        cwi_curl_set_long(
            easy, CURLOPT_BUFFERSIZE, request.decodesContent ? Self.codedPieceByteCount : Self.pieceByteCount)
        cwi_curl_set_string(easy, CURLOPT_URL, request.url.absoluteString)
        // Over plain HTTP/1.1 it would hold back transfers until the first has its answer.
        cwi_curl_set_long(easy, CURLOPT_PIPEWAIT, request.url.scheme?.lowercased() == "https" ? 1 : 0)
        for field in request.headers {
            // `Name;` is how libcurl is told of a header without a value.
            let line = field.value.isEmpty ? field.name + ";" : field.name + ": " + field.value
            headerList = curl_slist_append(headerList, line) ?? headerList
        }
        cwi_curl_set_pointer(easy, CURLOPT_HTTPHEADER, headerList)
        // Unretained: the engine keeps the transfer until it has removed the handle.
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA] {
            cwi_curl_set_pointer(easy, option, context)
        }
    }

    deinit { curl_slist_free_all(headerList) }

    /// What is read from a connection at once; libcurl's own 16 KB cost three times the CPU.
    private static let pieceByteCount = 256 << 10
    /// The same for a coded body: decoded, at most 1032 times as much, it lies in memory while the transfer is paused.
    private static let codedPieceByteCount = 4 << 10

    /// Takes everything of this transfer out of the handle, which goes on to another.
    func detach() {
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA, CURLOPT_HTTPHEADER] {
            cwi_curl_set_pointer(handle.easy, option, nil)
        }
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// When it has been idle for too long, on the same clock; `nil` while that can't be, as when the receiver takes nothing.
    var idleDeadline: Int64? {
        guard let lastActivity, !isPaused, receiver.takesBytes else { return nil }
        return lastActivity + idleLimit
    }

    /// Offers the receiver again what it did not take; the end, if that fails.
    func resume() -> TransferEnd? {
        lastActivity = lastActivity.map { _ in MonotonicClock.milliseconds }
        guard isPaused else { return nil }
        isPaused = false
        let result = curl_easy_pause(handle.easy, CURLPAUSE_CONT)
        return result == CURLE_OK ? nil : end(for: result)
    }

    func didConnect() { lastActivity = MonotonicClock.milliseconds }

    /// Returns the count it took: another one than it got ends the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        lastActivity = MonotonicClock.milliseconds
        switch parser.append(line) {
        case .incomplete: return line.count
        case .complete: return proceeds(receiver.transferDidReceive(parser.head)) ? line.count : 0
        case .tooLong:
            hasTooLongHead = true
            return 0
        }
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = MonotonicClock.milliseconds
        guard !isStopped else { return 0 }
        guard receiver.takesBytes else {
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        return proceeds(receiver.transferDidReceive(Data(bytes))) ? bytes.count : 0
    }

    func end(for result: CURLcode) -> TransferEnd {
        if isStopped { return .stopped }
        if hasTooLongHead {
            return .failed(code: Int(result.rawValue), message: "The server's headers are longer than 256 KiB")
        }
        if result == CURLE_OK, !parser.isComplete {
            // libcurl takes a head that stops in the middle for an answer without a body.
            let code = Int(CURLE_GOT_NOTHING.rawValue)
            return .failed(code: code, message: "The connection ended in the middle of the headers")
        }
        return switch result {
        case CURLE_OK: .complete
        case CURLE_PARTIAL_FILE: .cut
        case CURLE_OPERATION_TIMEDOUT: .connectTimedOut
        default: .failed(code: Int(result.rawValue), message: handle.message(for: result))
        }
    }

    private func proceeds(_ disposition: TransferDisposition) -> Bool {
        if disposition == .stop { isStopped = true }
        return !isStopped
    }
}
