import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// What a real transport shows only now and then: a cancel that meets the transport between two hops.
@Suite struct HopCancellationTests {
    /// Keeps what it is told; the test plays the server.
    private final class ScriptedTransport: HTTPTransport {
        struct State {
            var started: [TransferRequest] = []
            var receivers: [any TransferReceiver] = []
            var cancelled: [TransferID] = []
            var resumed: [TransferID] = []
            var bodies: [@Sendable () -> Void] = []
        }

        let state = Lock(State())

        func start(_ request: TransferRequest, id: TransferID, receiver: any TransferReceiver) {
            state.withLock { state in
                state.started.append(request)
                state.receivers.append(receiver)
            }
        }

        func cancel(_ id: TransferID) { state.withLock { $0.cancelled.append(id) } }

        func resume(_ id: TransferID) { state.withLock { $0.resumed.append(id) } }

        func perform(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.bodies.append(body) } }

        func withCookies(_ body: @escaping @Sendable (any CookieStore) -> Void) {}

        func runPerformed() {
            let bodies = state.withLock { state in
                defer { state.bodies = [] }
                return state.bodies
            }
            bodies.forEach { $0() }
        }
    }

    @Test(arguments: ["/same-origin", "http://other/origin"])
    func aCancelBetweenTwoHopsIsNotLost(location: String) async throws {
        let transport = ScriptedTransport()
        let downloader = ImageDownloader(configuration: .init(), transport: transport)
        let load = downloader.record(try #require(URL(string: "http://h/a")))
        let receiver = try #require(transport.state.withLock { $0.receivers.first })
        let field = HTTPField(name: "Location", value: location)
        #expect(receiver.transferDidReceive(TransferHead(statusCode: 302, fields: [field])) == .proceed)

        // The transport has ended the hop already, so that this cancel finds nothing there.
        load.task.cancel()
        #expect(transport.state.withLock { $0.cancelled.count } == 1)
        receiver.transferDidEnd(.complete)
        transport.runPerformed()
        #expect(try await load.recording.error() == .cancelled)
        #expect(load.recording.isInOrder)
        #expect(transport.state.withLock { $0.started.count } == 1)
        #expect(downloader.loadCounts == (0, 0))
    }

    @Test func aHopToAnotherOriginWaitsForASlotThere() throws {
        let transport = ScriptedTransport()
        var configuration = ImageDownloader.Configuration()
        configuration.maximumConnectionsPerHost = 1
        let downloader = ImageDownloader(configuration: configuration, transport: transport)
        _ = downloader.record(try #require(URL(string: "http://a/1")))
        _ = downloader.record(try #require(URL(string: "http://b/2")))
        _ = downloader.record(try #require(URL(string: "http://a/3")))
        let receivers = transport.state.withLock { $0.receivers }
        let field = HTTPField(name: "Location", value: "http://b/1")
        _ = receivers[0].transferDidReceive(TransferHead(statusCode: 302, fields: [field]))
        receivers[0].transferDidEnd(.complete)
        #expect(
            transport.state.withLock { $0.started.map(\.url.absoluteString) } == [
                "http://a/1", "http://b/2", "http://a/3",
            ])
        receivers[1].transferDidEnd(.cut)
        #expect(transport.state.withLock { $0.started.last?.url.absoluteString } == "http://b/1")
    }
}
