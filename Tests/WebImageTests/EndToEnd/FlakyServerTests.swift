import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

/// A server that three of ten transfers fail with, in six ways, and a policy that tries again.
@Suite(.timeLimit(.minutes(2))) struct FlakyServerTests {
    private let count = 400

    @Test func allImagesArriveCompleteAndOnce() async throws {
        let (server, directory) = (try FaultServer(), try TemporaryDirectory())
        let disk = DiskCache(in: directory)
        var downloads = ImageDownloader.Configuration()
        downloads.proxy = .none
        downloads.maximumConnectionsPerHost = 16
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: disk),
            loaders: [ImageDownloader(configuration: downloads)])
        var policy = RetryPolicy(maximumAttempts: 12)
        policy.initialBackoff = .milliseconds(10)
        policy.maximumBackoff = .milliseconds(100)
        configuration.optionsProcessor = { [policy] in $0.retryPolicy = $0.retryPolicy ?? policy }
        let manager = WebImageManager(configuration: configuration)

        let results = Results()
        for number in 0..<count {
            manager.load(WebImageRequest(try server.url("/flaky/\(number)")), completion: results.note)
        }
        let responses = try await results.wait(for: count).map { try $0.get() }
        #expect(responses.count == count)
        #expect(Set(responses.map(\.url)).count == count)

        // Only failed requests were sent again.
        let statistics = try await server.statistics()
        let faultCount = statistics.faults.values.reduce(0, +)
        #expect(Set(statistics.faults.keys) == ["refused", "reset", "cut", "408", "429", "503"])
        #expect((120...224).contains(faultCount), "three of ten: \(statistics.faults)")
        #expect(statistics.whole["/flaky"] == count)
        #expect(statistics.requests["/flaky"] == count + faultCount)
        #expect(statistics.whole.filter { $0.key != "/flaky" }.values.allSatisfy { $0 == 1 })
        #expect(responses.reduce(0) { $0 + $1.attempts.count } == count + faultCount)
        #expect(
            responses.allSatisfy {
                $0.attempts.last?.error == nil && $0.attempts.dropLast().allSatisfy { $0.error != nil }
            })

        // In memory and on disk is what the server has, all of it.
        await disk.flush()
        #expect(await disk.count == count)
        for response in responses {
            let number = try #require(Int(response.url.lastPathComponent))
            let data = try #require(await disk.data(for: WebImageRequest(response.url).cacheKey.source))
            #expect(data == response.data)
            let image = try CodecRegistry.shared.decode(data, options: DecodingOptions(allowsDamage: false))
            #expect(SolidPicture(number).matches(image) && SolidPicture(number).matches(response.image))
        }
    }
}
