import Foundation
import Testing
import WebImageTestSupport

/// The network calls of the process, traced from outside.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Tool.canTrace, "strace is missing, or may not look at other processes"))
struct NameLookupTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    /// Internet sockets, and data sent to the port of name servers.
    private func internetCalls(_ trace: String) -> [Substring] {
        trace.split(separator: "\n").filter { $0.contains("AF_INET") && !$0.contains("socket(") }
    }

    @Test func anInvalidNameIsRefusedWithoutAQuery() async throws {
        // A label has at most 63 characters (RFC 1035, 2.3.4), so that no server is ever asked for this one.
        let host = String(repeating: "a", count: 64) + ".example"
        let (run, trace) = try await tool.runTracingNetwork("get", "--json", "http://\(host)/a.png")
        #expect(run.status == 1)
        let error = try #require(try run.object(LoadObject.self).error)
        #expect(error.code == 201)
        #expect(error.message.contains(host), "\(error.message)")
        #expect(internetCalls(trace).isEmpty, "\(internetCalls(trace))")
    }

    @Test func theTraceShowsConnections() async throws {
        let port = try refusedPort()
        let (run, trace) = try await tool.runTracingNetwork("get", "http://127.0.0.1:\(port)/a.png")
        #expect(run.status == 1)
        #expect(internetCalls(trace).contains { $0.contains("connect(") && $0.contains("\(port)") })
    }
}
