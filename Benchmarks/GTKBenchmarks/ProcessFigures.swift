import CWebImageGTK
import Foundation

/// What this process has used so far.
struct ProcessFigures {
    let wall = Double(g_get_monotonic_time()) / 1e6
    /// Seconds of all threads, and of this one.
    let processor = Self.seconds(__rusage_who_t(RUSAGE_SELF.rawValue))
    let thread = Self.seconds(1)  // RUSAGE_THREAD, which Glibc's module does not have.

    /// As shares of one processor, since `start`.
    func shares(since start: ProcessFigures) -> (all: Double, main: Double) {
        let wall = wall - start.wall
        return ((processor - start.processor) / wall, (thread - start.thread) / wall)
    }

    private static func seconds(_ who: __rusage_who_t) -> Double {
        var usage = rusage()
        getrusage(who, &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// What the calling thread has used: other than the time on the clock, it does not count what others do meanwhile.
    static var mainThread: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The most memory it has had, in MiB.
    static var peakMebibytes: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
    }
}
