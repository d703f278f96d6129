internal import FoundationEssentials
internal import Glibc

/// The metrics that each program has under the same names.
struct ProcessMetrics: Sendable {
    /// About when the process has started, in seconds since 1970.
    private let start = Date().timeIntervalSince1970

    func add(to text: inout MetricsText) {
        text.add("process_start_time_seconds", .gauge, "Start of the process in seconds since 1970.", start)
        var time = timespec()
        if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
            text.add(
                "process_cpu_seconds_total", .counter, "Processor time of the process, without that of its decoders.",
                Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
        }
        if let count = Self.residentByteCount {
            text.add(
                "process_resident_memory_bytes", .gauge, "Memory of the process, without that of its decoders.", count)
        }
        if let count = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            text.add("process_open_fds", .gauge, "Open file descriptors.", count)
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            text.add("process_max_fds", .gauge, "The limit on open file descriptors.", Double(limit.rlim_cur))
        }
    }

    private static var residentByteCount: Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? Int(fields[1]).map { $0 * sysconf(Int32(_SC_PAGESIZE)) } : nil
    }
}
