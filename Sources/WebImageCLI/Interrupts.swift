internal import Glibc
internal import WebImageCore

/// Ends the process at once on Ctrl-C, hang-up and termination, with the status a shell expects (128 + signal) and no
/// unfinished file left behind.
enum Interrupts {
    /// Call it before the process has a second thread: those made later inherit the blocked signals, so that only the
    /// thread that waits for them gets any, outside a signal handler's restrictions.
    static func handle() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(signal) { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A pipe that nobody reads is an error where it is written to.
        signal(SIGPIPE, SIG_IGN)

        let awaited = signals
        let isStarted = PlatformThread.start(name: "interrupts") {
            var awaited = awaited
            var received: Int32 = 0
            while sigwait(&awaited, &received) != 0 {}
            OutputFile.removeUnfinished {
                Console.standard.setBottomLine("")
                _exit(128 + received)
            }
        }
        if !isStarted { pthread_sigmask(SIG_UNBLOCK, &signals, nil) }
    }

    /// Whether whoever started this process wants the signal ignored, as `nohup` does; waiting would still see it.
    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
