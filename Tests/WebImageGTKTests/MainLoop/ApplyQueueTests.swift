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
            let queue = ApplyQueue(budget: .milliseconds(1), now: { clock.now })
            let count = Lock(0)
            for _ in 0..<10 {
                queue.enqueue {
                    clock.advance(by: .microseconds(250))
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

    func testRunsWhatHasWaitedForAFrameBeforeTheNextOne() {
        MainActor.assumeIsolated {
            let (queue, frames, results) = (ApplyQueue(), Frames(), Lock<[Int]>([]))
            frames.draw = { number in
                // Each frame takes all the time there is.
                queue.enqueue { results.withLock { $0.append(number) } }
                g_usleep(17_000)
            }
            frames.begin()
            pump("five frames") { frames.count == 5 }
            frames.end()
            XCTAssertEqual(results.withLock { $0 }.prefix(4), [0, 1, 2, 3], "each ran before the next frame")
        }
    }

    func testLeavesAThirdOfTheTimeToFramesWhenMuchIsLate() {
        MainActor.assumeIsolated {
            let (clock, frames, count) = (ManualClock(), Frames(), Lock(0))
            let queue = ApplyQueue(now: { clock.now })
            frames.takeAllTime(of: clock)
            frames.begin()
            for _ in 0..<500 {
                queue.enqueue {
                    clock.advance(by: .milliseconds(1))
                    count.withLock { $0 += 1 }
                }
            }
            pump("500 bodies") { count.withLock { $0 } == 500 }
            frames.end()
            // 500 ms of bodies leave about 250 ms to frames of 17 ms.
            XCTAssertGreaterThan(frames.count, 8)
            XCTAssertLessThan(frames.count, 25)
        }
    }

    func testPaintsSoonAfterAStallThoughMuchIsLate() {
        MainActor.assumeIsolated {
            let (clock, frames, count) = (ManualClock(), Frames(), Lock(0))
            let queue = ApplyQueue(now: { clock.now })
            frames.takeAllTime(of: clock)
            for _ in 0..<400 {
                queue.enqueue {
                    clock.advance(by: .milliseconds(1))
                    count.withLock { $0 += 1 }
                }
            }
            clock.advance(by: .seconds(1))
            g_usleep(9000)
            frames.begin()
            pump("400 bodies") { count.withLock { $0 } == 400 }
            frames.end()
            XCTAssertGreaterThan(frames.count, 5)
        }
    }

    func testHoldsTheOthersUpWhileABodyRunsAMainLoop() {
        MainActor.assumeIsolated {
            let (queue, order) = (ApplyQueue(), Lock<[String]>([]))
            queue.enqueue {
                MainActor.assumeIsolated {
                    // Longer than a late body waits.
                    var isOver = false
                    let call = MainLoopCall.after(milliseconds: 30) { isOver = true }
                    queue.enqueue { order.withLock { $0.append("second") } }
                    pump("the dialog's end") { isOver }
                    withExtendedLifetime(call) {}
                }
                order.withLock { $0.append("first") }
            }
            pump("both") { order.withLock { $0.count } == 2 }
            XCTAssertEqual(order.withLock { $0 }, ["first", "second"])
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

/// Frames one after the other without a pause, as of a window that is redrawn all the time by a slow renderer.
@MainActor private final class Frames {
    /// Draws a frame; gets its number.
    var draw: @MainActor (Int) -> Void = { _ in }
    private(set) var count = 0
    private var sourceID: guint = 0

    /// Draws frames of 17 ms of `clock`, each long enough for the timer of a late body to become due.
    func takeAllTime(of clock: ManualClock) {
        draw = { _ in
            clock.advance(by: .milliseconds(17))
            g_usleep(9000)
        }
    }

    func begin() {
        sourceID = g_idle_add_full(
            120,  // GDK_PRIORITY_REDRAW
            { data in
                guard let data else { return gboolean(0) }
                let frames = Unmanaged<Frames>.fromOpaque(data)
                MainActor.assumeIsolated { frames.takeUnretainedValue().drawNext() }
                return gboolean(1)
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
    }

    func end() { g_source_remove(sourceID) }

    private func drawNext() {
        draw(count)
        count += 1
    }
}

private final class ManualClock: Sendable {
    private let time = Lock(ContinuousClock.now)

    var now: ContinuousClock.Instant { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
