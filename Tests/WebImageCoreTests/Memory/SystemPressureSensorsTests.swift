import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct SystemPressureSensorsTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
        try root.write(Data("0::/job\n".utf8), to: "proc/self/cgroup")
        try root.write(Data("100000\n".utf8), to: "sys/fs/cgroup/job/memory.max")
        try root.write(Data("50000\n".utf8), to: "sys/fs/cgroup/job/memory.current")
        try root.write(Data("low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n".utf8), to: "sys/fs/cgroup/job/memory.events")
    }

    private func overwrite(_ text: String, _ file: String) throws {
        try Data(text.utf8).write(to: root.url("sys/fs/cgroup/job/\(file)"))
    }

    /// Waits for the event that `change` causes on another thread.
    private func level(after change: () throws -> Void) throws -> MemoryPressureLevel? {
        let sensors = SystemPressureSensors(fileSystemRoot: root.path)
        // The first wait opens the files; inotify keeps what happens until the second.
        _ = sensors.wait(nanoseconds: 0, watchesPressure: true)
        try change()
        return sensors.wait(nanoseconds: 10_000_000_000, watchesPressure: true)
    }

    /// The kernel also ends a process when another part of the system is out of memory.
    @Test(arguments: ["oom 1\noom_kill 0", "oom 0\noom_kill 1"]) func runningOutOfMemoryIsCritical(
        counts: String
    ) throws {
        let level = try level { try overwrite("low 0\nhigh 0\nmax 4\n\(counts)\n", "memory.events") }
        #expect(level == .critical)
    }

    @Test func aReachedLimitIsAWarningIfLittleMemoryIsLeft() throws {
        let enough = try level { try overwrite("low 0\nhigh 0\nmax 4\noom 0\noom_kill 0\n", "memory.events") }
        #expect(enough == nil)
        try overwrite("93000\n", "memory.current")
        let little = try level { try overwrite("low 0\nhigh 0\nmax 8\noom 0\noom_kill 0\n", "memory.events") }
        #expect(little == .warning)
    }

    @Test func wakeEndsAWait() async throws {
        let sensors = SystemPressureSensors(fileSystemRoot: root.path)
        sensors.wake()
        #expect(sensors.wait(nanoseconds: nil, watchesPressure: false) == nil)
        let woken = Countdown()
        _ = PlatformThread.start(name: "waits") {
            _ = sensors.wait(nanoseconds: nil, watchesPressure: true)
            woken.signal()
        }
        sensors.wake()
        try await woken.wait()
        sensors.close()
    }

    @Test func aRegularFileIsNotPressureInformation() throws {
        try root.write(Data("some avg10=0.00\n".utf8), to: "proc/pressure/memory")
        _ = SystemPressureSensors(fileSystemRoot: root.path).wait(nanoseconds: 0, watchesPressure: true)
        let text = try String(
            decoding: Data(contentsOf: root.url("proc/pressure/memory")), as: UTF8.self)
        #expect(text == "some avg10=0.00\n")
    }
}
