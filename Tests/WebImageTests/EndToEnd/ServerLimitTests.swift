import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageLoading

/// The effect of hostile servers on other loads.
@Suite(.timeLimit(.minutes(2))) struct ServerLimitTests {
    /// Each of 32 names sends one byte a second, to more requests than there are slots.
    @Test func drippingServersDoNotKeepOthersWaiting() async throws {
        let faults = try FaultServer()
        let nginx = try NGINXServer()
        try nginx.write(SolidPicture(5).png(), to: "good.png")
        let names = (0..<32).map { "drip\($0).test" }
        // As for a server, but on this machine, and ten times as impatient.
        var configuration = ImageDownloader.Configuration.server
        configuration.addressPolicy.allowedNetworks = ["127.0.0.0/8"]
        configuration.hostAddresses = Dictionary(
            uniqueKeysWithValues: (names + ["good.test"]).map { ($0, ["127.0.0.1"]) })
        configuration.minimumRateWindow = configuration.minimumRateWindow / 10
        let downloader = ImageDownloader(configuration: configuration)
        var settings = WebImageManager.Configuration.server
        settings.cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        settings.loaders = [downloader]
        // A decoder with ThreadSanitizer needs more memory than its process may have.
        settings.isolation = .libraryFormats
        let manager = WebImageManager(configuration: settings)

        let (errors, ended) = (LockBox<[WebImageError?]>([]), Countdown(3 * names.count))
        for round in 0..<3 {
            for name in names {
                let url = try #require(URL(string: "http://\(name):\(faults.port)/drip/\(round)?size=1000&interval=1"))
                manager.load(WebImageRequest(url)) { result in
                    errors.withLock { $0.append(result.error) }
                    ended.signal()
                }
            }
        }
        try await faults.wait(for: .requests, path: "/drip", count: 32)
        #expect(downloader.loadCounts == (32, 64))
        let start = ContinuousClock.now
        let url = try #require(URL(string: "http://good.test:\(nginx.port)/good.png"))
        #expect(SolidPicture(5).matches(try await manager.image(at: url)))
        #expect(ContinuousClock.now - start < .milliseconds(1500 * 10), "a safety net for slow machines")
        // It came next, although 64 had waited for longer.
        #expect(errors.withLock { $0.count } < 64)
        try await ended.wait()
        #expect(
            errors.withLock { $0 }.allSatisfy {
                if case .timedOut(.slow(1024), .seconds(1), _) = $0 { true } else { false }
            })
    }
}

extension Result where Failure == WebImageError {
    fileprivate var error: WebImageError? { if case .failure(let error) = self { error } else { nil } }
}
