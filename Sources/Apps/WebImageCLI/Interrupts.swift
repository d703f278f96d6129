internal import Dispatch
internal import Glibc

/// Ends the process immediately on Ctrl-C, hang-up and termination, with the status that shells expect (128 + signal),
/// and removes unfinished files.
///
/// Signals are received through Dispatch instead of `sigwait`, since Dispatch parks the main thread with all signals
/// unblocked, where their default action would take effect.
final class Interrupts {
    private let sources: [any DispatchSourceSignal]

    /// Handles signals while this object exists.
    init() {
        // Writing to a pipe without a reader fails with an error instead.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "webimage.interrupts")
        sources = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { Self.end(status: 128 + number) }
            source.resume()
            return source
        }
    }

    /// Ends the process immediately and removes unfinished files. Unwritten changes of the disk cache are lost, as when
    /// a process is killed.
    static func end(status: Int32) -> Never {
        OutputFile.removeUnfinished {
            Console.standard.abandonBottomLine()
            _exit(status)
        }
    }

    /// Whether the parent process made this one ignore the signal, as `nohup` does.
    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
