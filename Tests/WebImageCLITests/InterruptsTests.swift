import Foundation
import Testing
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct InterruptsTests {
    let tool: Tool
    let faults: FaultServer

    init() throws {
        // A shell that runs the tests in the background makes them ignore it, and programs inherit that.
        signal(SIGINT, SIG_DFL)
        tool = try Tool()
        faults = try FaultServer()
    }

    /// Runs `get`, calls `end` as soon as it has begun to write a large file, and expects `status` and no trace of that
    /// file. It may take several attempts, each with a different name.
    private func expectNoFile(
        status: Int32, output: FileHandle? = nil, secondInput: (_ name: String) throws -> String? = { _ in nil },
        endingWith end: (_ running: RunningTool, _ name: String) async throws -> Void
    ) async throws {
        // Data after the image in its file is ignored, but takes time to write.
        let path = try tool.write(TestImage().data(.png), to: "large.png")
        try #require(truncate(path, 64 << 20) == 0)
        for attempt in 0..<10 {
            let name = "out-\(attempt)"
            try #require(mkdir(tool.path(name), 0o777) == 0)
            let appearance = try FileAppearance(in: tool.path(name))
            let inputs = [path, try secondInput(name)].compactMap(\.self)
            let running = try tool.start(["get", "--json", "-o", name + "/"] + inputs, output: output)
            try await appearance.wait()
            try await end(running, name)
            let run = try await running.wait()
            // If the file was complete before the end, it stays, and the attempt does not count.
            if tool.names(in: name) != ["large.png"] {
                #expect(run.status == status, "\(run.errors)")
                #expect(tool.names(in: name) == [])
                return
            }
        }
        Issue.record("the end always came too late")
    }

    @Test func endsImmediatelyDuringALoad() async throws {
        let address = try faults.url("/stall-body/a.png").absoluteString
        let running = try tool.start(["get", address, "-o", "out.png"])
        try await faults.wait(for: .requests, path: "/stall-body/a.png")
        running.interrupt()
        let run = try await running.wait()
        #expect(run.status == 128 + SIGINT)
        #expect(run.output.isEmpty)
    }

    @Test func leavesNoUnfinishedFile() async throws {
        try await expectNoFile(status: 128 + SIGINT) { running, _ in running.interrupt() }
    }

    @Test func leavesNoUnfinishedFileWhenTheOutputIsClosed() async throws {
        let pair = try StreamPair()
        try pair.readingEnd.close()
        // The second image's failure is printed while the first is being written.
        try await expectNoFile(
            status: 128 + SIGPIPE, output: pair.writingEnd,
            secondInput: { try faults.url("/held/\($0)").absoluteString }
        ) { _, name in
            try await faults.release("/held/\(name)")
        }
    }
}
