import Dispatch
import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage

/// Attempts that end, wait, change priority and are cancelled at any moment, on many threads.
@Suite(.timeLimit(.minutes(2))) struct AttemptStressTests {
    /// Answers after no time, on any thread: often with a failure.
    private final class RandomLoader: ImageLoader {
        private let random: LockBox<SplitMix64>
        private let picture: Data

        init(seed: UInt64) throws {
            random = LockBox(SplitMix64(seed: seed))
            picture = try SolidPicture(3).png()
        }

        func canLoad(_ url: URL) -> Bool { true }
        func isCacheable(_ url: URL) -> Bool { false }

        func load(
            _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
        ) -> any LoaderTask {
            let load = ScriptedLoad(request: request, priority: priority, handler: handler)
            let draw = random.withLock { Int.random(in: 0..<10, using: &$0) }
            let answer = { @Sendable [picture] in
                switch draw {
                case 0..<4: load.end(.failure(.transport(code: 56, message: "reset", url: request.url)))
                case 4..<6: load.refuse(503)
                case 6..<7: load.end(.failure(.httpStatus(code: 404, url: request.url)))
                default: load.answer(picture, pieceCount: 2)
                }
            }
            // Inside the call, as a loader without a thread does, or later.
            if draw.isMultiple(of: 5) { answer() } else { DispatchQueue.global().async { answer() } }
            return load
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func eachLoadEndsOnceAndNothingLeaks(seed: UInt64) async throws {
        let loader = try RandomLoader(seed: seed)
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20)), loaders: [loader])
        var policy = RetryPolicy(maximumAttempts: 4)
        policy.initialBackoff = .microseconds(500)
        policy.maximumBackoff = .milliseconds(1)
        configuration.optionsProcessor = { [policy] in $0.retryPolicy = $0.retryPolicy ?? policy }
        let manager = WebImageManager(configuration: configuration)
        let count = 1500
        let (ends, ended) = (LockBox([Int](repeating: 0, count: count)), Countdown(count))
        var random = SplitMix64(seed: seed &+ 100)
        for number in 0..<count {
            // Every third shares its work with another.
            var request = WebImageRequest(try ManagerFixture.url("stress/\(number / 3 * 2 + number % 3 / 2)"))
            request.alternatives = [try ManagerFixture.url("stress/other/\(number)")].filter { _ in number % 3 == 2 }
            let operation = manager.load(request) { _ in
                ends.withLock { $0[number] += 1 }
                ended.signal()
            }
            let draw = Int.random(in: 0..<8, using: &random)
            if draw < 3 {
                DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(draw * 700)) { operation.cancel() }
            } else if draw == 3 {
                operation.cancel()
            } else if draw == 4 {
                DispatchQueue.global().async { operation.priority = .high }
            }
        }
        try await ended.wait()
        #expect(ends.withLock { $0.allSatisfy { $0 == 1 } })
        #expect(manager.runningOperations.isEmpty)
    }
}
