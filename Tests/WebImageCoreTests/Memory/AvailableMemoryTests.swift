import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct AvailableMemoryTests {
    private func level(_ files: [String: String]) throws -> MemoryPressureLevel? {
        let root = try TemporaryDirectory()
        for (path, text) in files { try root.write(Data(text.utf8), to: path) }
        return AvailableMemory.level(fileSystemRoot: root.path)
    }

    private func machine(available: Int) -> [String: String] {
        ["proc/meminfo": "MemTotal:       1000 kB\nMemFree:           10 kB\nMemAvailable:   \(available) kB\n"]
    }

    @Test func aTwentiethOfThePhysicalMemoryIsCriticalAndATenthIsAWarning() throws {
        #expect(try level(machine(available: 100)) == nil)
        #expect(try level(machine(available: 99)) == .warning)
        #expect(try level(machine(available: 50)) == .warning)
        #expect(try level(machine(available: 49)) == .critical)
        #expect(try level([:]) == nil, "nothing is known")
    }

    @Test func theLimitOfAControlGroupCountsWithoutItsOldFilePages() throws {
        var files = machine(available: 900)
        files["proc/self/cgroup"] = "0::/a/b\n"
        files["sys/fs/cgroup/a/memory.max"] = "1000\n"
        files["sys/fs/cgroup/a/memory.current"] = "980\n"
        #expect(try level(files) == .critical)
        files["sys/fs/cgroup/a/memory.stat"] = "anon 500\ninactive_file 480\n"
        #expect(try level(files) == nil)
    }

    @Test func controlGroupsOfVersion1Count() throws {
        let folder = "sys/fs/cgroup/memory/job"
        #expect(
            try level([
                "proc/self/cgroup": "4:memory:/job\n", "\(folder)/memory.limit_in_bytes": "1000\n",
                "\(folder)/memory.usage_in_bytes": "990\n",
                "\(folder)/memory.stat": "inactive_file 9\ntotal_inactive_file 60\n",
            ]) == .warning)
    }

    @Test func usesTheLowestLimitOfTheParentControlGroups() throws {
        let root = try TemporaryDirectory()
        try root.write(Data("0::/outer/inner\n".utf8), to: "proc/self/cgroup")
        try root.write(Data("max\n".utf8), to: "sys/fs/cgroup/outer/inner/memory.max")
        try root.write(Data("300000000\n".utf8), to: "sys/fs/cgroup/outer/memory.max")
        #expect(available(root) == 300_000_000)
    }

    @Test func readsTheLimitOfControlGroupsVersion1() throws {
        let root = try TemporaryDirectory()
        try root.write(Data("5:cpu,cpuacct:/x\n4:memory:/job\n".utf8), to: "proc/self/cgroup")
        try root.write(Data("9223372036854771712\n".utf8), to: "sys/fs/cgroup/memory/memory.limit_in_bytes")
        try root.write(Data("200000000\n".utf8), to: "sys/fs/cgroup/memory/job/memory.limit_in_bytes")
        #expect(available(root) == 200_000_000)
    }

    @Test func isThePhysicalMemoryWithoutALowerLimit() throws {
        let root = try TemporaryDirectory()
        #expect(available(root) == 1 << 33)
        try root.write(Data("0::/\n".utf8), to: "proc/self/cgroup")
        try root.write(Data("max\n".utf8), to: "sys/fs/cgroup/memory.max")
        #expect(available(root) == 1 << 33)
    }

    @Test func freeMemoryIsTheLeastOfAllLimits() throws {
        let root = try TemporaryDirectory()
        #expect(AvailableMemory.freeBytes(physicalBytes: 1 << 33, fileSystemRoot: root.path) == 1 << 33)
        try root.write(Data("MemTotal: 9000 kB\nMemAvailable: 1000 kB\n".utf8), to: "proc/meminfo")
        #expect(AvailableMemory.freeBytes(physicalBytes: 1 << 33, fileSystemRoot: root.path) == 1_024_000)
        try root.write(Data("0::/job\n".utf8), to: "proc/self/cgroup")
        try root.write(Data("300000\n".utf8), to: "sys/fs/cgroup/job/memory.max")
        try root.write(Data("100000\n".utf8), to: "sys/fs/cgroup/job/memory.current")
        #expect(AvailableMemory.freeBytes(physicalBytes: 1 << 33, fileSystemRoot: root.path) == 200_000)
        try root.write(Data("400000\n".utf8), to: "sys/fs/cgroup/job/memory.current")
        #expect(AvailableMemory.freeBytes(physicalBytes: 1 << 33, fileSystemRoot: root.path) == 0)
    }

    private func available(_ root: TemporaryDirectory) -> Int {
        AvailableMemory.totalBytes(physicalBytes: 1 << 33, fileSystemRoot: root.path)
    }
}
