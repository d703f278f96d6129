import FoundationEssentials
import Testing
import WebImageTestSupport

/// What the other tests take for granted of the servers they use.
@Suite struct ServerTests {
    @Test func nginxServesADirectoryAndLogsInOrder() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data("hello".utf8), to: "a.txt")
        let server = try NGINXServer(root: directory.path)
        #expect(try await server.accessLog().isEmpty)
        for path in ["/a.txt", "/none"] { _ = try await LoopbackRequest.get(path, port: server.port) }
        let log = try await server.accessLog()
        #expect(log.map(\.path) == ["/a.txt", "/none"])
        #expect(log.map(\.status) == [200, 404])
        #expect(log.first?.byteCount == 5)
    }

    @Test func theFaultServerCountsRequestsAndHoldsThemUntilReleased() async throws {
        let server = try FaultServer()
        async let answer = LoopbackRequest.get("/held/servers/1?size=7", port: server.port)
        try await server.wait(for: .requests, path: "/held/servers/1")
        try await server.release("/held/servers/1")
        #expect(try await answer.body == Array(FaultServer.pattern(7)))
        let statistics = try await server.statistics()
        #expect(statistics.requests["/held/servers"] == 1)
        #expect(statistics.dropped["/held/servers"] == nil)
    }

    @Test func theFaultServerSeesADrop() async throws {
        let server = try FaultServer()
        await #expect(throws: TestServerError.self) {
            try await LoopbackRequest.get("/stall-headers/drop", port: server.port, atMost: 1)
        }
        try await server.wait(for: .dropped, path: "/stall-headers/drop")
    }
}
