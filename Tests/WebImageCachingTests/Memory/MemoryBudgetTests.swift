import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct MemoryBudgetTests {
    @Test func defaultsToAFifthOfTheMemoryAndAGibibyteAtMost() {
        let cost = MemoryBudget.defaultImageCost()
        #expect(cost > 0)
        #expect(cost <= 1 << 30)
    }

    @Test func takesTheLowestLimitOfTheControlGroupsAbove() throws {
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

    @Test func isTheMachinesMemoryWithoutALowerLimit() throws {
        let root = try TemporaryDirectory()
        #expect(available(root) == 1 << 33)
        try root.write(Data("0::/\n".utf8), to: "proc/self/cgroup")
        try root.write(Data("max\n".utf8), to: "sys/fs/cgroup/memory.max")
        #expect(available(root) == 1 << 33)
    }

    private func available(_ root: TemporaryDirectory) -> Int {
        MemoryBudget.availableBytes(physicalBytes: 1 << 33, fileSystemRoot: root.path)
    }
}
