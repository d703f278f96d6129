internal import Dispatch
internal import Glibc

/// Ends the process at once on Ctrl-C, hang-up and termination, with the status a shell expects (128 + signal) and no
/// unfinished file left behind.
///
/// The signals come through dispatch, not `sigwait`: dispatch parks the main thread with all signals open, and there
/// their default action would win.
final class Interrupts {
    private let sources: [any DispatchSourceSignal]

    /// Handles them for as long as this object lives.
    init() {
        // A pipe that nobody reads is an error where it is written to.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "webimage.interrupts")
        sources = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { Self.end(status: 128 + number) }
            source.resume()
            return source
        }
    }

    /// Ends the process at once, with no unfinished file left behind. What waits to be written to the disk cache is lost,
    /// as it is when a process is killed.
    static func end(status: Int32) -> Never {
        OutputFile.removeUnfinished {
            Console.standard.abandonBottomLine()
            _exit(status)
        }
    }

    /// Whether whoever started this process wants the signal ignored, as `nohup` does.
    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
