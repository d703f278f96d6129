import Glibc

/// Runs a program to its end and measures it from outside.
package enum MeasuredProcess {
    package struct Outcome {
        package var status: Int32
        package var output: String
        /// Of the whole process, its start included.
        package var report: ClientReport
    }

    /// - Parameter input: the file that it reads from; `nil` for what this process reads from.
    package static func run(_ arguments: [String], input: String? = nil) throws -> Outcome {
        var pipeEnds: [Int32] = [0, 0]
        guard pipe(&pipeEnds) == 0 else { throw WrongResult(description: "no pipe: errno \(errno)") }
        for end in pipeEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, pipeEnds[1], STDOUT_FILENO)
        if let input { posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0) }
        defer { posix_spawn_file_actions_destroy(&actions) }
        var strings = arguments.map { strdup($0) } + [nil]
        defer { strings.forEach { free($0) } }
        var process = pid_t()
        let start = ResourceUsage.current.wall
        let status = posix_spawnp(&process, arguments[0], &actions, nil, &strings, environ)
        close(pipeEnds[1])
        defer { close(pipeEnds[0]) }
        guard status == 0 else { throw WrongResult(description: "\(arguments[0]) does not start: errno \(status)") }
        return wait(for: process, since: start, output: pipeEnds[0])
    }

    /// The path of a program that was built with this one.
    package static func sibling(_ name: String) throws -> String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count)
        guard length > 0 else { throw WrongResult(description: "no path of this program: errno \(errno)") }
        let own = String(decoding: path[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
        return own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/"
            + name
    }

    private static func wait(for process: pid_t, since start: Duration, output: Int32) -> Outcome {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var peakByteCount = 0
        var event = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        while true {
            // Its memory can be seen only while it lives.
            let isReady = poll(&event, 1, 5) > 0
            peakByteCount = max(peakByteCount, ResourceUsage.peakByteCount(of: process))
            guard isReady else { continue }
            let count = read(output, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        var status: Int32 = 0
        var usage = rusage()
        wait4(process, &status, 0, &usage)
        let processor = usage.ru_utime.duration + usage.ru_stime.duration
        return Outcome(
            status: status, output: String(decoding: text, as: UTF8.self),
            report: ClientReport(
                usage: ResourceUsage(wall: ResourceUsage.current.wall - start, processor: processor),
                peakByteCount: peakByteCount))
    }
}

extension timeval {
    fileprivate var duration: Duration { .seconds(tv_sec) + .microseconds(tv_usec) }
}
