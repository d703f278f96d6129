import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct AvailableMemoryTests {
    private func level(_ files: [String: String]) throws -> MemoryPressureLevel? {
        let root = try TemporaryDirectory()
        for (path, text) in files { try root.write(Data(text.utf8), to: path) }
        return AvailableMemory.level(fileSystemRoot: root.path)
    }

    private func machine(available: Int) -> [String: String] {
        ["proc/meminfo": "MemTotal:       1000 kB\nMemFree:           10 kB\nMemAvailable:   \(available) kB\n"]
    }

    @Test func aTwentiethOfTheMachineIsCriticalATenthAWarning() throws {
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
}
