import Dispatch
import FoundationEssentials
import Glibc
import WebImageCaching
import WebImageCore

/// The disk cache with a million entries of 100 bytes to 1 KB, opened by a process that did not write them.
enum MillionEntries {
    private static let flag = "--million-entries"
    private static let count = 1_000_000
    private static let lookUpCount = 200_000

    /// Prints the table.
    static func measure() throws {
        guard let fileSystem = BenchmarkFileSystem.all.last else { return }
        print("\nDisk, \(fileSystem.name): \(count) entries of 100 bytes to 1 KB")
        try fileSystem.withDirectory { parent in
            let entries = DiskEntries(count: count, byteCounts: 100...1_000)
            var times: [Duration] = []
            do {
                let session = OurStore(directory: parent + "/store").session()
                for tenth in 0..<10 {
                    let places = count / 10 * tenth..<count / 10 * (tenth + 1)
                    times.append(
                        try ContinuousClock().measure { try session.set(places, of: entries, generation: 0) })
                }
            }
            let total = times.reduce(.zero, +)
            print("  written in \(milliseconds(total)); its files take \(allocatedMebibytes(parent)) MiB")
            let sets = times.map { microseconds($0 / (count / 10)) }
            print("  set, each tenth: \(sets.joined(separator: ", "))")
            sync()
            // The other process goes on below.
            fflush(nil)
            try runOtherProcess([flag, parent + "/store"])
        }
    }

    /// Does the other process's part, and exits. Returns if the command line has no such part.
    static func runIfAsked(_ commandLine: [String]) throws {
        guard commandLine.count == 3, commandLine[1] == flag else { return }
        try lookUp(in: commandLine[2])
        exit(0)
    }

    private static func lookUp(in directory: String) throws {
        let entries = DiskEntries(count: count, byteCounts: 100...1_000)
        let clock = ContinuousClock()
        let table = FigureTable(columns: ["", "median", "99 %", "longest", "budget"])
        let residentBefore = residentMebibytes

        let start = clock.now
        let store = OurStore(directory: directory)
        guard store.cache.blockingData(for: entries.keys[0]) != nil else {
            throw WrongResult(description: "nothing there")
        }
        table.row(["open, with one get", milliseconds(clock.now - start), "", "", "< 100 ms"])
        let sizeStart = clock.now
        let size = blocking { await store.cache.totalSize }
        table.row(["total size", milliseconds(clock.now - sizeStart), "", "", "constant"])
        guard size == entries.totalByteCount else { throw WrongResult(description: "\(size) bytes are not all") }

        let places = entries.shuffledPlaces.prefix(lookUpCount)
        for name in ["get, first time", "get"] {
            let gets = try places.map { try timeOfGet($0, store, entries) }
            table.row([name] + cells(gets) + [""])
        }
        let misses = places.map { place in
            clock.measure { precondition(store.cache.blockingData(for: entries.absentKeys[place]) == nil) }
        }
        table.row(["miss"] + cells(misses) + [""])
        table.row(["memory taken", "\(residentMebibytes - residentBefore) MiB", "", "", ""])

        // How long the machine itself stops a thread that does nothing else.
        let pauses = (0..<lookUpCount).map { _ in
            let start = clock.now
            var now = start
            while now - start < .microseconds(10) { now = clock.now }
            return now - start
        }
        table.row(["10 µs of reading the clock"] + cells(pauses) + [""])

        // A tenth goes, the least recently used, while another thread looks up what was used last.
        let isOver = LockBox(false)
        let trimStart = clock.now
        Task.detached {
            await store.cache.trim(toSize: size / 10 * 9)
            isOver.withLock { $0 = true }
        }
        var gets: [Duration] = []
        while !isOver.withLock({ $0 }) { gets.append(try timeOfGet(places[gets.count % lookUpCount], store, entries)) }
        table.row(["trim of a tenth", milliseconds(clock.now - trimStart), "", "", ""])
        table.row(["get meanwhile"] + cells(gets) + ["≤ 5 ms"])
        table.row(["memory taken", "\(residentMebibytes - residentBefore) MiB", "", "", ""])
    }

    private static func timeOfGet(_ place: Int, _ store: OurStore, _ entries: DiskEntries) throws -> Duration {
        let start = ContinuousClock.now
        let data = store.cache.blockingData(for: entries.keys[place])
        let time = ContinuousClock.now - start
        guard data?.withUnsafeBytes({ entries.accepts($0, as: place) }) == true else {
            throw WrongResult(description: "entry \(place) is another or missing")
        }
        return time
    }

    /// The median, the 99th percentile and the longest.
    private static func cells(_ times: [Duration]) -> [String] {
        let sorted = times.sorted()
        guard let longest = sorted.last else { return ["-", "-", "-"] }
        return [sorted[sorted.count / 2], sorted[sorted.count * 99 / 100], longest].map(microseconds)
    }

    private static func microseconds(_ time: Duration) -> String {
        "\((time / .microseconds(1) * 10).rounded() / 10) µs"
    }

    private static func milliseconds(_ time: Duration) -> String {
        "\((time / .milliseconds(1) * 10).rounded() / 10) ms"
    }

    private static var residentMebibytes: Int {
        // The second number of statm is in pages.
        let text = (try? String(contentsOf: URL(filePath: "/proc/self/statm"), encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return (pages * sysconf(Int32(_SC_PAGESIZE))) >> 20
    }

    private static func allocatedMebibytes(_ path: String) -> Int {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []
        return paths.reduce(0) { sum, name in
            var status = stat()
            return lstat("\(path)/\(name)", &status) == 0 ? sum + Int(status.st_blocks) * 512 : sum
        } >> 20
    }

    private static func blocking(_ body: @escaping @Sendable () async -> Int64) -> Int64 {
        let done = DispatchSemaphore(value: 0)
        let result = LockBox<Int64>(0)
        Task.detached {
            let value = await body()
            result.withLock { $0 = value }
            done.signal()
        }
        done.wait()
        return result.withLock { $0 }
    }

    private static func runOtherProcess(_ arguments: [String]) throws {
        var strings = (["/proc/self/exe"] + arguments).map { strdup($0) } + [nil]
        defer { strings.forEach { free($0) } }
        var process = pid_t()
        guard posix_spawn(&process, "/proc/self/exe", nil, nil, &strings, environ) == 0 else {
            throw WrongResult(description: "the other process does not start")
        }
        var status: Int32 = 0
        waitpid(process, &status, 0)
        guard status == 0 else { throw WrongResult(description: "the other process failed") }
    }
}
