import CWebImageGLib
import Dispatch
import Foundation
import WebImageMainLoop
import XCTest

final class GLibMainLoopTests: XCTestCase {
    func testWorkOfTheMainActorRunsOnTheMainThread() {
        MainActor.assumeIsolated {
            GLibMainLoop.install()
            GLibMainLoop.install()
            let record = Record()
            Task.detached {
                await MainActor.run { record.note(Thread.isMainThread) }
                try await Task.sleep(for: .milliseconds(20))
                await MainActor.run { record.note(Thread.isMainThread) }
            }
            DispatchQueue.main.async { MainActor.assumeIsolated { record.note(Thread.isMainThread) } }
            iterate { record.count == 3 }
            XCTAssertTrue(record.isAllTrue)
        }
    }

    func testWorkThatIsQueuedDuringWorkRuns() {
        MainActor.assumeIsolated {
            GLibMainLoop.install()
            let record = Record()
            record.noteThousandTimes()
            iterate { record.count == 1000 }
        }
    }

    func testAnIdleLoopSleeps() {
        MainActor.assumeIsolated {
            GLibMainLoop.install()
            let record = Record()
            Task.detached {
                try await Task.sleep(for: .milliseconds(300))
                await MainActor.run { record.note(true) }
            }
            XCTAssertLessThan(iterate { record.count == 1 }, 10)
        }
    }
}

/// What work on the main actor has noted.
@MainActor private final class Record {
    private(set) var count = 0
    private(set) var isAllTrue = true

    func note(_ isTrue: Bool) {
        count += 1
        if !isTrue { isAllTrue = false }
    }

    func noteThousandTimes() {
        Task { @MainActor in
            note(true)
            if count < 1000 { noteThousandTimes() }
        }
    }
}

/// Runs the main loop until `condition` holds; ends the process after 20 s.
///
/// - Returns: how often the loop woke.
@MainActor @discardableResult private func iterate(until condition: @MainActor () -> Bool) -> Int {
    let limit = g_timeout_add_full(G_PRIORITY_HIGH, 20_000, { _ in fatalError("this takes too long") }, nil, nil)
    defer { g_source_remove(limit) }
    var count = 0
    while !condition() {
        g_main_context_iteration(nil, 1)
        count += 1
    }
    return count
}
