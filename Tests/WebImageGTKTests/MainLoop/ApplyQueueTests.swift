import CWebImageGTK
import Dispatch
import XCTest

@testable import WebImageGTK

final class ApplyQueueTests: XCTestCase {
    func testRunsEverythingInOrder() {
        MainActor.assumeIsolated {
            let queue = ApplyQueue()
            let seen = Lock<[Int]>([])
            DispatchQueue.global().async {
                for number in 0..<1000 { queue.enqueue { seen.withLock { $0.append(number) } } }
            }
            pump("1,000 bodies") { seen.withLock { $0.count } == 1000 }
            XCTAssertEqual(seen.withLock { $0 }, Array(0..<1000))
        }
    }

    func testStopsWhenTheBudgetIsUsedUp() {
        MainActor.assumeIsolated {
            let clock = ManualClock()
            let queue = ApplyQueue(budget: .milliseconds(4), now: { clock.now })
            let count = Lock(0)
            for _ in 0..<10 {
                queue.enqueue {
                    clock.advance(by: .milliseconds(1))
                    count.withLock { $0 += 1 }
                }
            }
            var counts: [Int] = []
            pump("10 bodies") {
                let count = count.withLock { $0 }
                if count != counts.last ?? 0 { counts.append(count) }
                return count == 10
            }
            XCTAssertEqual(counts, [4, 8, 10])
        }
    }

    func testLetsFramesGoFirst() {
        MainActor.assumeIsolated {
            let order = Lock<[String]>([])
            let queue = ApplyQueue()
            queue.enqueue { order.withLock { $0.append("result") } }
            g_idle_add_full(
                120,  // GDK_PRIORITY_REDRAW
                { data in
                    guard let data else { return gboolean(0) }
                    Unmanaged<Lock<[String]>>.fromOpaque(data).takeUnretainedValue().withLock { $0.append("frame") }
                    return gboolean(0)
                }, Unmanaged.passUnretained(order).toOpaque(), nil)
            pump("both") { order.withLock { $0.count } == 2 }
            XCTAssertEqual(order.withLock { $0 }, ["frame", "result"])
        }
    }

    func testRunsWhatABodyQueues() {
        MainActor.assumeIsolated {
            let queue = ApplyQueue()
            let order = Lock<[Int]>([])
            queue.enqueue {
                order.withLock { $0.append(1) }
                queue.enqueue { order.withLock { $0.append(3) } }
            }
            queue.enqueue { order.withLock { $0.append(2) } }
            pump("three bodies") { order.withLock { $0.count } == 3 }
            XCTAssertEqual(order.withLock { $0 }, [1, 2, 3])
        }
    }

    func testLivesUntilItIsEmptyAndNoLonger() {
        MainActor.assumeIsolated {
            let didRun = Lock(false)
            var queue: ApplyQueue? = ApplyQueue()
            weak let weakQueue = queue
            queue?.enqueue { didRun.withLock { $0 = true } }
            queue = nil
            XCTAssertNotNil(weakQueue)
            pump("the body") { didRun.withLock { $0 } }
            pump("the queue's end") { weakQueue == nil }
        }
    }
}

private final class ManualClock: Sendable {
    private let time = Lock(ContinuousClock.now)

    var now: ContinuousClock.Instant { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
