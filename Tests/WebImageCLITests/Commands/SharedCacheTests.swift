import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// `--shared` of `get` and `cache`; what a store does is in WebImageSharedTests.
@Suite(.timeLimit(.minutes(3))) struct SharedCacheTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func aStoreThatIsNotThereCostsNoImage() async throws {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        let server = try NGINXServer()
        try server.write(TestImage().data(.png), to: "a.png")
        let port = try LoopbackRequest.unusedPort()
        let shared = "s3://bucket/p?endpoint=http://127.0.0.1:\(port)"
        let run = try await tool.run(
            "get", "--no-cache", "--shared", shared, "--explain", try server.url("/a.png").absoluteString, input)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("shared cache: the store cannot be reached"))
        let list = try await tool.run("cache", "--shared", shared, "list")
        #expect(list.status == 1)
        #expect(list.errors.contains("127.0.0.1:\(port)"))
    }

    @Test(arguments: [
        ["get", "--shared", "http://a/b", "x.png"], ["get", "--shared", "s3://id:secret@bucket", "x.png"],
        ["cache", "--shared", "s3://bucket?secret=x", "list"],
    ])
    func refusesOtherPlacesWithoutShowingSecrets(arguments: [String]) async throws {
        let run = try await tool.run(arguments)
        #expect(run.status == 2)
        #expect(run.errors.contains("AWS_ACCESS_KEY_ID") && !run.errors.contains("secret"))
    }

    @Test(arguments: ["clear", "trim"]) func doesNotEmptyWhatOthersUse(action: String) async throws {
        let run = try await tool.run("cache", "--shared", "s3://bucket", action)
        #expect(run.status == 2 && run.errors.contains("lifecycle"))
    }
}
