internal import CWebImageCurl
internal import Glibc

/// The network thread's loop. Made, used and released on that thread alone, as are its transfers: nothing in here is
/// `Sendable`.
final class CurlEngine {
    private let configuration: CurlTransport.Configuration
    private let mailbox: CurlMailbox
    private let multi: UnsafeMutableRawPointer?
    private var live: [TransferID: CurlTransfer] = [:]
    private var idsByHandle: [UnsafeMutableRawPointer: TransferID] = [:]
    private let cookies = CurlCookieStore()
    private lazy var sessions = CurlShare(hasCookies: false)
    private let sockets = CurlSocketTable()
    private var lengthlessOrigins = LengthlessOrigins()
    private var isStopping = false

    /// `curl_global_init`, once for the process. Never undone: other code in the process may use libcurl.
    private static let isGlobalStateReady = cwi_curl_global_init() == CURLE_OK

    /// The number of idle connections to keep. libcurl's default, four times the current transfers, closes them after a
    /// burst.
    private static let connectionPoolSize = 64

    init(_ configuration: CurlTransport.Configuration, mailbox: CurlMailbox) {
        self.configuration = configuration
        self.mailbox = mailbox
        multi = Self.isGlobalStateReady ? cwi_curl_multi_init() : nil
        if let multi { cwi_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.connectionPoolSize) }
    }

    deinit {
        if let multi { cwi_curl_multi_cleanup(multi) }
    }

    func run() {
        Self.blockBrokenPipeSignal()
        while true {
            for command in mailbox.takeAll() { execute(command) }
            perform()
            guard !(isStopping && live.isEmpty) else { return }
            sleep()
        }
    }

    private func execute(_ command: CurlMailbox.Command) {
        switch command {
        case .start(let request, let id, let receiver): start(request, id: id, receiver: receiver)
        case .cancel(let id): end(id, with: .cancelled)
        case .resume(let id): resume(id)
        case .perform(let body): body()
        case .withCookies(let body): body(cookies)
        case .stop: isStopping = true
        }
    }

    private func start(_ request: TransferRequest, id: TransferID, receiver: any TransferReceiver) {
        // A new handle for each transfer: libcurl before 8.1 reads and frees memory that it has freed when a handle is
        // used again and the first header line begins with a space. Nothing of one transfer stays for the next, and it
        // costs little.
        guard let multi, let handle = CurlHandle(configuration) else {
            receiver.transferDidEnd(.failed(code: Int(CURLE_FAILED_INIT.rawValue), message: CurlVersion.problem))
            return
        }
        if let message = CurlVersion.shortcoming(for: configuration.maximumHTTPVersion) {
            receiver.transferDidEnd(.failed(code: Int(CURLE_NOT_BUILT_IN.rawValue), message: message))
            return
        }
        let transfer = CurlTransfer(
            lengthlessOrigins.directed(request), handle: handle, receiver: receiver,
            addressCheck: configuration.addressCheck,
            share: share(for: request.access), sockets: sockets)
        if let refusal = transfer.refusal {
            receiver.transferDidEnd(refusal)
            return
        }
        live[id] = transfer
        idsByHandle[handle.easy] = id
        let status = cwi_curl_multi_add(multi, handle.easy)
        if status != CURLM_OK {
            end(id, with: .failed(code: Int(status.rawValue), message: String(cString: cwi_curl_multi_text(status))))
        }
    }

    /// Returns the data that a transfer shares. Transfers without a check of the server share nothing with the rest.
    private func share(for access: TransferAccess) -> CurlShare? {
        if access.usesCookies { return cookies.share }
        return access.allowsInvalidCertificates ? nil : sessions
    }

    private func resume(_ id: TransferID) {
        guard let transfer = live[id], let outcome = transfer.resume() else { return }
        conclude(transfer, id, with: outcome)
    }

    /// Ends what libcurl has ended, or sends its request again.
    ///
    /// - Parameter outcome: worked out before, since that may require the repetition.
    private func conclude(_ transfer: CurlTransfer, _ id: TransferID, with outcome: TransferEnd) {
        if let request = transfer.repetition {
            restart(id, with: request)
        } else {
            end(id, with: outcome)
        }
    }

    private func perform() {
        guard let multi else { return }
        cwi_curl_multi_perform(multi)
        while let message = cwi_curl_multi_message(multi) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let id = idsByHandle[easy], let transfer = live[id]
            else { continue }
            let result = cwi_curl_message_result(message)
            if !transfer.holds(result) { conclude(transfer, id, with: transfer.end(for: result)) }
        }
        endOverdueTransfers()
    }

    private func endOverdueTransfers() {
        let now = MonotonicClock.milliseconds
        let overdue = live.compactMapValues { $0.exceededLimit(at: now) }
        for (id, limit) in overdue { end(id, with: .timedOut(limit)) }
    }

    private func end(_ id: TransferID, with end: TransferEnd) {
        guard let transfer = remove(id) else { return }
        var metrics = TransferMetrics(of: transfer.handle.easy)
        metrics.security = transfer.security
        metrics.active = transfer.request.usedTime + transfer.activeDuration(at: MonotonicClock.milliseconds)
        if transfer.receivedCookieCount > 0 { cookies.trim(received: transfer.receivedCookieCount) }
        transfer.receiver.transferDidEnd(end, metrics: metrics)
    }

    /// Repeats a request whose response the receiver has not seen. The time so far counts.
    private func restart(_ id: TransferID, with request: TransferRequest) {
        guard let transfer = remove(id) else { return }
        lengthlessOrigins.note(request)
        var request = request
        let used = transfer.activeDuration(at: MonotonicClock.milliseconds)
        request.usedTime += used
        request.limits.total = request.limits.total.map { max(.zero, $0 - used) }
        start(request, id: id, receiver: transfer.receiver)
    }

    private func remove(_ id: TransferID) -> CurlTransfer? {
        guard let multi, let transfer = live.removeValue(forKey: id) else { return nil }
        idsByHandle[transfer.handle.easy] = nil
        // Closes the connection of an unfinished HTTP/1 transfer, and keeps that of a finished one for the next.
        cwi_curl_multi_remove(multi, transfer.handle.easy)
        transfer.leaveConnection()
        return transfer
    }

    /// Waits for traffic, a command, or the next transfer to reach a time limit.
    private func sleep() {
        // Without a multi handle every start fails at once, and the loop only waits for commands.
        guard let multi else {
            usleep(10_000)
            return
        }
        guard mailbox.prepareToSleep(on: multi) else { return }
        let now = MonotonicClock.milliseconds
        let deadline = live.values.compactMap(\.deadline).min()
        let wait = deadline.map { max(1, $0 - now) } ?? 60_000
        cwi_curl_multi_wait(multi, Int32(min(wait, 60_000)))
    }

    /// OpenSSL writes to sockets without MSG_NOSIGNAL. The signal is blocked on this thread only, so that the process
    /// keeps its setting.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

enum MonotonicClock {
    static var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

extension Duration {
    /// Rounded up, so that nothing times out early. At least 1: 0 means libcurl's default.
    var inMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, min(seconds, Int64(Int32.max) / 1000 - 1) * 1000 + fraction)
    }
}
