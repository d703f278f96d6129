import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct TurnsTests {
    private let turns = Turns(count: 1)

    /// Waits until `count` wait for a turn.
    private func waitForWaiters(_ count: Int) async {
        while turns.waitingCount < count { await Task.yield() }
    }

    @Test func givesTurnsByPriorityAndThenInOrder() async throws {
        #expect(await turns.begin(Urgency(.normal)))
        let order = Lock<[String]>([])
        let priorities: [(String, LoadPriority)] = [
            ("low", .low), ("first", .normal), ("second", .normal), ("high", .high),
        ]
        await withTaskGroup { group in
            for (index, (name, priority)) in priorities.enumerated() {
                group.addTask {
                    #expect(await turns.begin(Urgency(priority)))
                    order.withLock { $0.append(name) }
                    turns.end()
                }
                await waitForWaiters(index + 1)
            }
            turns.end()
        }
        #expect(order.withLock { $0 } == ["high", "first", "second", "low"])
        // Nobody has kept the turn.
        #expect(await turns.begin(Urgency(.normal)))
    }

    @Test func movesThoseWhoGetMoreUrgent() async throws {
        #expect(await turns.begin(Urgency(.normal)))
        let order = Lock<[Int]>([])
        let urgencies = (0..<4).map { _ in Urgency(.low) }
        await withTaskGroup { group in
            for (index, urgency) in urgencies.enumerated() {
                group.addTask {
                    #expect(await turns.begin(urgency))
                    order.withLock { $0.append(index) }
                    turns.end()
                }
                await waitForWaiters(index + 1)
            }
            urgencies[3].raise(to: .high)
            urgencies[1].raise(to: .high)
            turns.end()
        }
        #expect(order.withLock { $0 } == [3, 1, 0, 2])
    }

    @Test func servesManyInOrder() async throws {
        #expect(await turns.begin(Urgency(.normal)))
        let order = Lock<[Int]>([])
        let count = 2_000
        await withTaskGroup { group in
            for index in 0..<count {
                group.addTask {
                    #expect(await turns.begin(Urgency(.normal)))
                    order.withLock { $0.append(index) }
                    turns.end()
                }
                await waitForWaiters(index + 1)
            }
            turns.end()
        }
        #expect(order.withLock { $0 } == Array(0..<count))
        #expect(turns.waitingCount == 0)
    }

    @Test func takesNoTurnAfterACancel() async throws {
        #expect(await turns.begin(Urgency(.normal)))
        let waiting = Task { await turns.begin(Urgency(.normal)) }
        await waitForWaiters(1)
        waiting.cancel()
        #expect(await waiting.value == false)
        #expect(turns.waitingCount == 0)
        turns.end()
        #expect(await turns.begin(Urgency(.normal)))
    }

    @Test func readsNoMorePicturesThanAreAboutToBeDecoded() async throws {
        let fixture = try ImageCacheFixture()
        let folder = try TemporaryDirectory()
        try folder.write(try solidPNG(), to: "picture.png")
        let path = folder.path("picture.png")
        let undecoded = Lock((now: 0, most: 0))
        let decoder = ProbeDecoder { _ in undecoded.withLock { $0.now -= 1 } }
        let cache = fixture.cache(decoder: decoder, hasDisk: false) { configuration in
            configuration.bundled = [
                BundledImages { _ in
                    undecoded.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    return path
                }
            ]
        }
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask { #expect(await cache.image(for: ImageCacheKey(source: "\(number)")) != nil) }
            }
        }
        #expect(decoder.callCount == 200)
        #expect(undecoded.withLock { $0.most } <= DecodingQueue.shared.threadCount + 2)
    }
}
