import CWebImageGTK
import Dispatch
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

final class MainLoopTests: XCTestCase {
    func testRunsTheMainActor() {
        MainActor.assumeIsolated {
            let ran = LockBox(false)
            Task.detached {
                await MainActor.run { ran.withLock { $0 = Thread.isMainThread } }
            }
            pump("main actor") { ran.withLock { $0 } }
        }
    }

    func testRunsTheMainQueue() {
        MainActor.assumeIsolated {
            let ran = LockBox(false)
            DispatchQueue.global().async {
                DispatchQueue.main.async { ran.withLock { $0 = Thread.isMainThread } }
            }
            pump("main queue") { ran.withLock { $0 } }
        }
    }

    func testResumesSleepingTasks() {
        MainActor.assumeIsolated {
            var didWake = false
            Task { @MainActor in
                try? await Task.sleep(for: .milliseconds(1))
                didWake = true
            }
            pump("wake-up") { didWake }
        }
    }

    func testInstallsOneSourceHoweverOftenItIsCalled() {
        MainActor.assumeIsolated {
            MainLoop.install()
            let before = nextSourceID()
            MainLoop.install()
            XCTAssertEqual(nextSourceID(), before + 1)
        }
    }
}

/// GLib numbers sources in the order they are attached.
@MainActor private func nextSourceID() -> guint {
    let id = g_idle_add_full(G_PRIORITY_LOW, { _ in gboolean(0) }, nil, nil)
    g_source_remove(id)
    return id
}

final class ApplyQueueTests: XCTestCase {
    func testRunsEverythingInOrder() {
        MainActor.assumeIsolated {
            let queue = ApplyQueue()
            let seen = LockBox<[Int]>([])
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
            let count = LockBox(0)
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

    func testFramesTakePrecedence() {
        MainActor.assumeIsolated {
            let order = LockBox<[String]>([])
            let queue = ApplyQueue()
            queue.enqueue { order.withLock { $0.append("result") } }
            g_idle_add_full(
                120,  // GDK_PRIORITY_REDRAW
                { data in
                    guard let data else { return gboolean(0) }
                    Unmanaged<LockBox<[String]>>.fromOpaque(data).takeUnretainedValue().withLock { $0.append("frame") }
                    return gboolean(0)
                }, Unmanaged.passUnretained(order).toOpaque(), nil)
            pump("both") { order.withLock { $0.count } == 2 }
            XCTAssertEqual(order.withLock { $0 }, ["frame", "result"])
        }
    }

    func testRunsWhatHasWaitedForAFrameBeforeTheNextOne() {
        MainActor.assumeIsolated {
            let (queue, frames, results) = (ApplyQueue(), Frames(), LockBox<[Int]>([]))
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
            let (clock, frames, count) = (ManualClock(), Frames(), LockBox(0))
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
            let (clock, frames, count) = (ManualClock(), Frames(), LockBox(0))
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

    func testDelaysOtherBodiesWhileOneRunsAMainLoop() {
        MainActor.assumeIsolated {
            let (queue, order) = (ApplyQueue(), LockBox<[String]>([]))
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

    func testRunsBodiesQueuedByABody() {
        MainActor.assumeIsolated {
            let queue = ApplyQueue()
            let order = LockBox<[Int]>([])
            queue.enqueue {
                order.withLock { $0.append(1) }
                queue.enqueue { order.withLock { $0.append(3) } }
            }
            queue.enqueue { order.withLock { $0.append(2) } }
            pump("three bodies") { order.withLock { $0.count } == 3 }
            XCTAssertEqual(order.withLock { $0 }, [1, 2, 3])
        }
    }

    func testLivesUntilItIsEmpty() {
        MainActor.assumeIsolated {
            let didRun = LockBox(false)
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
    private let time = LockBox(BootTime.now)

    var now: BootTime { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
}

/// Loads beside a widget that redraws all the time, with frames that take as long as a frame may.
final class BusyWindowTests: GTKTestCase {
    func testEachResultIsOnScreenTwoFramesAfterItIsReady() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), BusyWindow())
            defer { window.close() }
            for number in 0..<10 {
                let picture = WebPicture()
                window.content.show(picture)
                let url = try fixture.url("\(number)")
                picture.setImage(url, manager: fixture.manager)
                pump("the load") { fixture.loader.lastLoad(of: url) != nil }
                fixture.loader.lastLoad(of: url)?.answer(.red)
                waitOffMain("the decode") { fixture.manager.cachedImage(for: WebImageRequest(url)) != nil }
                let readyFrame = window.frameCount
                var shownFrame: Int?
                picture.picturePaintable.onSnapshot = { [weak picture] in
                    if shownFrame == nil, picture?.image != nil { shownFrame = window.frameCount }
                }
                pump("the image on screen") { shownFrame != nil }
                // At most one that has begun, and the one that shows it.
                XCTAssertLessThanOrEqual((shownFrame ?? .max) - readyFrame, 2)
            }
        }
    }

    func testManyResultsAreOnScreenInAFewFrames() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), BusyWindow())
            defer { window.close() }
            let pictures = (0..<100).map { _ in WebPicture() }
            for (number, picture) in pictures.enumerated() {
                window.content.add(picture.widget)
                picture.setImage(try fixture.url("\(number)"), manager: fixture.manager)
            }
            pump("the loads") { fixture.loader.loads.count == pictures.count }
            for load in fixture.loader.loads { load.answer(.green) }
            waitOffMain("the decodes") {
                fixture.loader.loads.allSatisfy { fixture.manager.cachedImage(for: WebImageRequest($0.url)) != nil }
            }
            let readyFrame = window.frameCount
            pump("the images") { pictures.allSatisfy { $0.image != nil } }
            XCTAssertLessThan(window.frameCount - readyFrame, 10)
        }
    }
}

/// A window with an image that is redrawn in every frame and takes 25 ms for it.
@MainActor private final class BusyWindow {
    let content = TestWindow()
    private(set) var frameCount = 0
    private let busy = WebPicture()
    private var ticker: FrameTicker?

    init() {
        gtk_widget_set_size_request(busy.widget, 20, 20)
        busy.picturePaintable.onSnapshot = { [weak self] in
            self?.frameCount += 1
            g_usleep(25_000)
        }
        content.show(busy)
        let widget = busy.widget
        ticker = FrameTicker(host: ViewHost.of(widget)) { _ in
            gtk_widget_queue_draw(widget)
            return true
        }
        ticker?.start()
        pump("three frames") { frameCount > 2 }
    }

    func close() {
        ticker?.stop()
        content.close()
    }
}
