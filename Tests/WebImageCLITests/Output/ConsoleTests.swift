import Foundation
import Testing
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct ConsoleTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func reportsWhyResultsCannotBePrinted() async throws {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let run = try await tool.start(["info", path], output: full).wait()
        #expect(run.status == 1)
        #expect(run.errors == "webimage: standard output: No space left on device.\n")
    }
}
