internal import CWebImageCurl
internal import WebImageCore

/// libcurl on its own thread.
///
///     any thread                                 network thread
///     ──────────                                 ──────────────
///     start, cancel, perform ──► mailbox ──────► CurlEngine: the multi handle, the transfers, the receivers' calls
///                                 (lock) wakeup
///
/// Only the mailbox is shared. The thread starts with the first load and ends after this object is gone and
/// the last transfer has ended.
package final class CurlTransport: HTTPTransport {
    package struct Configuration: Sendable {
        var connectTimeout: Duration
        package var maximumHTTPVersion = LoaderMetrics.HTTPVersion.http2
        package var certificateAuthorities = CertificateAuthorities.system
        /// `nil` allows all addresses.
        var addressCheck: AddressCheck?

        package init(connectTimeout: Duration) { self.connectTimeout = connectTimeout }
    }

    private let mailbox: CurlMailbox

    /// - Parameter startThread: for tests; by default ``PlatformThread``.
    package init(_ configuration: Configuration, startThread: @escaping StartThread = PlatformThread.start) {
        mailbox = CurlMailbox(configuration, startThread: startThread)
    }

    deinit { mailbox.stop() }

    package typealias StartThread = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool

    package func prepare() -> Bool { mailbox.startThread() }

    package func start(_ request: TransferRequest, id: TransferID, receiver: any TransferReceiver) {
        mailbox.post(.start(request, id, receiver))
    }

    package func cancel(_ id: TransferID) { mailbox.post(.cancel(id)) }

    package func resume(_ id: TransferID) { mailbox.post(.resume(id)) }

    package func perform(_ body: @escaping @Sendable () -> Void) { mailbox.post(.perform(body)) }

    package func withCookies(_ body: @escaping @Sendable (any CookieStore) -> Void) { mailbox.post(.withCookies(body)) }
}

/// Commands on their way to the network thread.
final class CurlMailbox: Sendable {
    enum Command: Sendable {
        case start(TransferRequest, TransferID, any TransferReceiver)
        case cancel(TransferID)
        case resume(TransferID)
        case perform(@Sendable () -> Void)
        case withCookies(@Sendable (any CookieStore) -> Void)
        case stop
    }

    private struct State {
        var commands: [Command] = []
        var isRunning = false
        /// The handle to wake, set only while the thread waits on it: it exists for at least as long.
        var sleeper: Sleeper?
    }

    /// `@unchecked`: curl_multi_wakeup is the one function that may be called for a multi handle from any thread.
    private struct Sleeper: @unchecked Sendable {
        let multi: UnsafeMutableRawPointer
    }

    private let configuration: CurlTransport.Configuration
    private let startPlatformThread: CurlTransport.StartThread
    private let state = Lock(State())

    init(_ configuration: CurlTransport.Configuration, startThread: @escaping CurlTransport.StartThread) {
        self.configuration = configuration
        startPlatformThread = startThread
    }

    /// Starts the network thread unless it runs; `false` when the system has none. The next load tries again.
    func startThread() -> Bool {
        // Under the lock: no caller may rely on a thread that another call fails to start.
        state.withLock { state in
            guard !state.isRunning else { return true }
            state.isRunning = startPlatformThread("webimage-net") { [self, configuration] in
                CurlEngine(configuration, mailbox: self).run()
            }
            return state.isRunning
        }
    }

    /// Ends the network thread, if there is one, after the last transfer.
    func stop() {
        if state.withLock({ $0.isRunning }) { post(.stop) }
    }

    func post(_ command: Command) {
        state.withLock { state in
            state.commands.append(command)
            if let sleeper = state.sleeper {
                cwi_curl_multi_wakeup(sleeper.multi)
                state.sleeper = nil
            }
        }
    }

    /// Empties the mailbox; on the network thread.
    func takeAll() -> [Command] {
        state.withLock { state in
            state.sleeper = nil
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Prepares the network thread's wait on `multi`; returns `false` if there are commands first.
    func prepareToSleep(on multi: UnsafeMutableRawPointer) -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty else { return false }
            state.sleeper = Sleeper(multi: multi)
            return true
        }
    }
}
