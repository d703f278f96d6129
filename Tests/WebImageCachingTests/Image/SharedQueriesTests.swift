import FoundationEssentials
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(1))) struct SharedQueriesTests {
    @Test func isAsUrgentAsTheMostUrgentWhoAsks() async throws {
        let queries = SharedQueries<String, Int>()
        let (started, door) = (Countdown(), Countdown())
        let urgency = Lock<Urgency?>(nil)
        let ask = { @Sendable (priority: LoadPriority) in
            await queries.answer(to: "question", priority: priority) { shared in
                urgency.withLock { $0 = shared }
                started.signal()
                try? await door.wait()
                return 7
            }
        }
        async let first = ask(.low)
        try await started.wait()
        #expect(urgency.withLock { $0?.priority } == .low)
        let moves = Lock<[LoadPriority]>([])
        urgency.withLock { $0 }?.apply { priority in moves.withLock { $0.append(priority) } }
        async let second = ask(.veryHigh)
        while queries.waiterCount < 2 { await Task.yield() }
        // One in less of a hurry changes nothing.
        async let third = ask(.normal)
        while queries.waiterCount < 3 { await Task.yield() }
        #expect(urgency.withLock { $0?.priority } == .veryHigh)
        #expect(moves.withLock { $0 } == [.low, .veryHigh])
        door.signal()
        #expect(await [first, second, third] == [7, 7, 7])
    }

    @Test func hurriesAQueryThatWaitsForItsTurn() async throws {
        let reached = Lock<[String]>([])
        let cache = try ImageCacheFixture().cache(hasDisk: false) { configuration in
            configuration.bundled = [
                BundledImages { key in
                    reached.withLock { $0.append(key.source) }
                    return nil
                }
            ]
        }
        for _ in 0..<(DecodingQueue.shared.threadCount + 2) { #expect(await cache.turns.begin(Urgency(.normal))) }
        let ask = { @Sendable (source: String, priority: LoadPriority) in
            await cache.image(
                for: ImageCacheKey(source: source), in: .disk, options: ImageQueryOptions(priority: priority)) == nil
        }
        async let first = ask("first", .low)
        while cache.turns.waitingCount < 1 { await Task.yield() }
        async let second = ask("second", .normal)
        while cache.turns.waitingCount < 2 { await Task.yield() }
        async let hurried = ask("first", .veryHigh)
        while cache.queries.waiterCount < 3 { await Task.yield() }
        cache.turns.end()
        #expect(await [first, second, hurried] == [true, true, true])
        #expect(reached.withLock { $0 } == ["first", "second"])
    }
}
