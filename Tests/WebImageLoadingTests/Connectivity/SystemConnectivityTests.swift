import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct SystemConnectivityTests {
    /// Routes that the test changes, and a socket in place of the kernel's events.
    private final class Routes: Sendable {
        private let state = LockBox((hasDefault: false, writer: Int32(-1), openCount: 0))

        var openCount: Int { state.withLock { $0.openCount } }
        var hasDefault: Bool { state.withLock { $0.hasDefault } }

        func open() -> Int32 {
            var ends: [Int32] = [0, 0]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return -1 }
            for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
            state.withLock { state in
                if state.writer >= 0 { close(state.writer) }
                (state.writer, state.openCount) = (ends[1], state.openCount + 1)
            }
            return ends[0]
        }

        func change(hasDefault: Bool) {
            let writer = state.withLock { state in
                state.hasDefault = hasDefault
                return state.writer
            }
            var byte: UInt8 = 0
            // The monitor may have closed its end.
            _ = send(writer, &byte, 1, Int32(MSG_NOSIGNAL))
        }

        deinit { state.withLock { _ = close($0.writer) } }
    }

    private let routes = Routes()

    private func makeMonitor() -> SystemConnectivity {
        SystemConnectivity(hasRoute: { [routes] in routes.hasDefault }, openEvents: { [routes] in routes.open() })
    }

    @Test func callsImmediatelyIfANetworkIsAvailable() {
        routes.change(hasDefault: true)
        let monitor = makeMonitor()
        let called = Countdown()
        _ = monitor.whenConnected { called.signal() }
        #expect(called.remaining == 0 && monitor.isConnected && !monitor.isWatching)
    }

    @Test func callsAllWaitersOnceANetworkIsAvailableAndStopsWatching() async throws {
        let monitor = makeMonitor()
        let called = Countdown(3)
        for _ in 1...3 { _ = monitor.whenConnected { called.signal() } }
        #expect(called.remaining == 3 && monitor.isWatching && routes.openCount == 1)
        routes.change(hasDefault: false)
        routes.change(hasDefault: true)
        try await called.wait()
        #expect(called.remaining == 0 && !monitor.isWatching)
        routes.change(hasDefault: false)
        _ = monitor.whenConnected {}
        #expect(routes.openCount == 2, "it watches again for the next")
    }

    @Test func cancelledWaitersAreNotCalledAndTheLastOneStopsWatching() async throws {
        let monitor = makeMonitor()
        let (left, stayed) = (Countdown(), Countdown())
        let first = monitor.whenConnected { left.signal() }
        let second = monitor.whenConnected { stayed.signal() }
        first.cancel()
        first.cancel()
        routes.change(hasDefault: true)
        try await stayed.wait()
        #expect(left.remaining == 1)
        second.cancel()
        routes.change(hasDefault: false)
        let third = monitor.whenConnected {}
        third.cancel()
        #expect(!monitor.isWatching)
    }

    @Test func assumesANetworkIfTheKernelReportsNothing() {
        let monitor = SystemConnectivity(hasRoute: { false }, openEvents: { -1 })
        let called = Countdown()
        _ = monitor.whenConnected { called.signal() }
        #expect(called.remaining == 0)
    }

    /// /proc says the same as netlink, in another way.
    @Test func seesTheDefaultRoutesOfThisMachine() throws {
        func lines(_ path: String) -> [[Substring]] {
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").map { $0.split(whereSeparator: { $0 == " " || $0 == "\t" }) }
        }
        let zero = String(repeating: "0", count: 32)
        let hasIPv4 = lines("/proc/net/route").dropFirst().contains { $0[1] == "00000000" && $0[7] == "00000000" }
        let hasIPv6 = lines("/proc/net/ipv6_route").contains { $0[0] == zero && $0[1] == "00" && $0[9] != "lo" }
        #expect(SystemConnectivity().isConnected == (hasIPv4 || hasIPv6))
    }

    @Test(arguments: [
        ("http://localhost/", true), ("http://a.LOCALHOST./", true), ("http://127.8.9.1:81/", true),
        ("http://[::1]/", true), ("file:///a", true), ("data:,a", true), ("resource:///a", true),
        ("http://10.0.0.1/", false), ("http://localhost.test/", false), ("https://[fe80::1]/", false),
        ("s3://bucket/a", false),
    ])
    func recognizesURLsOfThisMachine(url: String, isHere: Bool) throws {
        #expect(try #require(URL(string: url)).isOnThisMachine == isHere)
    }
}
