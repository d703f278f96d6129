internal import Glibc

/// SIGTERM and SIGINT, which end the program once all answers are sent. SIGHUP is ignored.
struct Signals {
    private var set = sigset_t()

    /// Blocks the signals in this thread, and in all that it starts later.
    init() {
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        // A terminal that closes, or a tool that means other servers by it: settings are read at the start only.
        signal(SIGHUP, SIG_IGN)
    }

    func wait() {
        var (set, number) = (set, Int32(0))
        sigwait(&set, &number)
    }
}
