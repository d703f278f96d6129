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
    /// Handles of ended transfers; making one anew costs more than a small transfer.
    private var spareHandles: [CurlHandle] = []
    private let cookies = CurlCookieStore()
    private var isStopping = false

    /// `curl_global_init`, once for the process. Never undone: others in the process use the same library.
    private static let isGlobalStateReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private static let spareHandleLimit = 32
    /// The idle connections kept. libcurl's own default, four times the transfers under way, drops them after a burst.
    private static let connectionPoolSize = 64

    init(_ configuration: CurlTransport.Configuration, mailbox: CurlMailbox) {
        self.configuration = configuration
        self.mailbox = mailbox
        multi = Self.isGlobalStateReady ? curl_multi_init() : nil
        if let multi { cwi_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.connectionPoolSize) }
    }

    deinit {
        spareHandles = []
        if let multi { curl_multi_cleanup(multi) }
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
        guard let multi, let handle = spareHandles.popLast() ?? CurlHandle(configuration) else {
            receiver.transferDidEnd(.failed(code: Int(CURLE_FAILED_INIT.rawValue), message: "libcurl does not start"))
            return
        }
        if configuration.httpVersions == .http3, !CurlVersion.hasHTTP3 {
            let message = "The installed libcurl \(CurlVersion.number) was built without HTTP/3"
            receiver.transferDidEnd(.failed(code: Int(CURLE_NOT_BUILT_IN.rawValue), message: message))
            return
        }
        let transfer = CurlTransfer(
            request, handle: handle, receiver: receiver, addressCheck: configuration.addressCheck, cookies: cookies)
        if let refusal = transfer.refusal {
            _ = transfer.detach()
            receiver.transferDidEnd(refusal)
            return
        }
        live[id] = transfer
        idsByHandle[handle.easy] = id
        let status = curl_multi_add_handle(multi, handle.easy)
        if status != CURLM_OK {
            end(id, with: .failed(code: Int(status.rawValue), message: String(cString: curl_multi_strerror(status))))
        }
    }

    private func resume(_ id: TransferID) {
        guard let failure = live[id]?.resume() else { return }
        end(id, with: failure)
    }

    private func perform() {
        guard let multi else { return }
        var runningCount: Int32 = 0
        curl_multi_perform(multi, &runningCount)
        var leftCount: Int32 = 0
        while let message = curl_multi_info_read(multi, &leftCount) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let id = idsByHandle[easy], let transfer = live[id]
            else { continue }
            let result = cwi_curl_message_result(message)
            if !transfer.holds(result) { end(id, with: transfer.end(for: result)) }
        }
        endIdleTransfers()
    }

    private func endIdleTransfers() {
        let now = MonotonicClock.milliseconds
        let idle = live.filter { $0.value.isIdle(at: now) }
        for id in idle.keys { end(id, with: .idleTimedOut) }
    }

    private func end(_ id: TransferID, with end: TransferEnd) {
        guard let multi, let transfer = live.removeValue(forKey: id) else { return }
        let handle = transfer.handle
        let metrics = TransferMetrics(of: handle.easy)
        idsByHandle[handle.easy] = nil
        // Closes the connection of an unfinished HTTP/1 transfer, and keeps that of a finished one for the next.
        curl_multi_remove_handle(multi, handle.easy)
        if transfer.receivedCookieCount > 0 { cookies.trim(received: transfer.receivedCookieCount) }
        let isReusable = transfer.detach()
        if isReusable, spareHandles.count < Self.spareHandleLimit { spareHandles.append(handle) }
        transfer.receiver.transferDidEnd(end, metrics: metrics)
    }

    /// Waits for traffic, a command, or the next transfer to become idle for too long.
    private func sleep() {
        // Without a multi handle every start fails at once; the loop then only waits for commands, a little at a time.
        guard let multi else {
            usleep(10_000)
            return
        }
        guard mailbox.prepareToSleep(on: multi) else { return }
        let now = MonotonicClock.milliseconds
        let deadline = live.values.compactMap(\.idleDeadline).min()
        let wait = deadline.map { max(1, $0 - now) } ?? 60_000
        curl_multi_poll(multi, nil, 0, Int32(min(wait, 60_000)), nil)
    }

    /// OpenSSL writes to sockets without MSG_NOSIGNAL; blocked on this thread only, the process keeps its own setting.
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
    /// Rounded up, so that nothing times out early, and at least 1: libcurl takes 0 for its default.
    var inMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, min(seconds, Int64(Int32.max) / 1000 - 1) * 1000 + fraction)
    }

    var inSeconds: Double { Double(inMilliseconds) / 1000 }
}
