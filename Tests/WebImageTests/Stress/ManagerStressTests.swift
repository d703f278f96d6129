import Glibc
import Testing
import WebImageTestSupport

@testable import WebImage

/// The invariants of the whole manager, under very many requests at once.
///
/// `WEBIMAGE_STRESS_REQUESTS` says how many requests there are in all, as `make stress` does; `WEBIMAGE_STRESS_SEED`
/// names a seed that failed, to see it again. What is asked is the same for a seed in each run; in which order the
/// threads come to it is not.
@Suite(.timeLimit(.minutes(10))) struct ManagerStressTests {
    private static let requestCount =
        number("WEBIMAGE_STRESS_REQUESTS") ?? ReleaseChecks.choose(4_000, forRelease: 10_000)
    private static let seeds: [UInt64] = number("WEBIMAGE_STRESS_SEED").map { [UInt64($0)] } ?? [1, 2, 3, 4]
    private static let burstSize = 250

    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    @Test(arguments: seeds) func everyRequestEndsOnceWithItsOwnImageAndNothingLeaks(seed: UInt64) async throws {
        let origin = StressOrigin(seed: seed)
        let run = try StressRun(seed: seed, source: origin)
        let report = try await stress(run, requestCount: Self.requestCount / Self.seeds.count)

        // Everything has happened, or the test shows nothing.
        #expect(StressOrigin.Fault.allCases.allSatisfy { origin.faultCounts[$0] ?? 0 > 0 }, report)
        #expect(origin.confirmedCount > 0, report)
        #expect(run.manager.counters.previews > 0 && run.manager.counters.reusedVariants > 0, report)
    }

    @Test(arguments: seeds.prefix(1)) func everyRequestEndsOnceWithRealServers(seed: UInt64) async throws {
        let run = try StressRun(seed: seed, source: StressServers())
        _ = try await stress(run, requestCount: Self.requestCount / 8)
    }

    /// - Returns: what has happened, in words.
    private func stress(_ run: StressRun, requestCount: Int) async throws -> Comment {
        let burstCount = max(1, requestCount / Self.burstSize)
        for number in 0..<burstCount { try await run.burst(requestCount / burstCount, number: number) }
        try await run.settle()
        try await run.checkCaches()

        let (tally, counters) = (run.tally, run.manager.counters)
        let asked = requestCount / burstCount * burstCount
        let report: Comment = "seed \(run.seed): \(asked) requests: \(tally); \(counters)"
        print(report)
        #expect(run.violations.count == 0, "\(report)\n\(run.violations.texts.joined(separator: "\n"))")
        #expect(tally.endCount == asked, report)
        #expect([.memoryCache, .diskCache, .remote].allSatisfy { tally.delivered[$0] ?? 0 > asked / 50 }, report)
        #expect(tally.cancelledCount > asked / 10 && tally.failedCount > asked / 50, report)
        #expect(tally.prefetched.loaded > 0 && tally.prefetched.skipped > 0 && tally.prefetched.failed > 0, report)

        // Nothing is left.
        #expect(run.source.runningCount == 0, report)
        #expect(run.manager.runningOperations.isEmpty && !run.manager.isRunning, report)
        #expect(counters.running == 0 && counters.suspended == 0, report)
        #expect(counters.imagesInProgress == 0 && counters.filesInProgress == 0, report)
        #expect(counters.undecodedByteCount == 0, report)
        #expect(run.livingOperationCount == 0, report)
        #expect(run.leftFiles == [], report)
        #expect(run.cache.memory.totalCost <= run.cache.memory.costLimit, report)
        #expect(run.manager.configuration.networkActivity.count == 0, report)

        // The counts equal the events: each end is one of these.
        #expect(run.hookCount.withLock { $0 } == counters.requests, report)
        let answered = counters.memoryHits + counters.reusedVariants + counters.diskHits + counters.loads
        #expect(answered + counters.failures + counters.cancellations == counters.requests, report)
        return report
    }
}
