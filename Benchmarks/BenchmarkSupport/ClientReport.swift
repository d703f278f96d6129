package import Glibc

/// A client's report about its run, in one line.
package struct ClientReport: Sendable {
    package var usage: ResourceUsage
    /// The maximum memory the process had at once.
    package var peakByteCount: Int

    package init(usage: ResourceUsage, peakByteCount: Int) {
        self.usage = usage
        self.peakByteCount = peakByteCount
    }

    package init?(line: Substring) {
        let numbers = line.split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 3 else { return nil }
        usage = ResourceUsage(wall: .nanoseconds(numbers[0]), processor: .nanoseconds(numbers[1]))
        peakByteCount = Int(numbers[2])
    }

    package var line: String {
        "\(Int64(usage.wall / .nanoseconds(1))) \(Int64(usage.processor / .nanoseconds(1))) \(peakByteCount)"
    }
}

/// The time that passed, and the time of processors that was spent, for the program and for the kernel.
package struct ResourceUsage: Sendable {
    package var wall: Duration
    package var processor: Duration

    package init(wall: Duration, processor: Duration) {
        self.wall = wall
        self.processor = processor
    }

    /// Of this process, from some moment on.
    package static var current: ResourceUsage {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let wall = Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return ResourceUsage(wall: wall, processor: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }

    package static func - (end: ResourceUsage, start: ResourceUsage) -> ResourceUsage {
        ResourceUsage(wall: end.wall - start.wall, processor: end.processor - start.processor)
    }

    /// Of this process.
    package static var peakByteCount: Int { peakByteCount(of: getpid()) }

    /// `VmHWM` of proc(5). getrusage's figure would include the parent: it survives exec.
    package static func peakByteCount(of process: pid_t) -> Int {
        guard let file = fopen("/proc/\(process)/status", "re") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split(whereSeparator: \.isWhitespace)
            if words.first == "VmHWM:", words.count > 1, let kibibytes = Int(words[1]) { return kibibytes << 10 }
        }
        return 0
    }
}
