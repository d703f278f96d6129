import CWebImageGTK
import Dispatch
import Foundation
import WebImageGTK
import XCTest

final class MainLoopTests: XCTestCase {
    func testRunsTheMainActor() {
        MainActor.assumeIsolated {
            let ran = Lock(false)
            Task.detached {
                await MainActor.run { ran.withLock { $0 = Thread.isMainThread } }
            }
            pump("main actor") { ran.withLock { $0 } }
        }
    }

    func testRunsTheMainQueue() {
        MainActor.assumeIsolated {
            let ran = Lock(false)
            DispatchQueue.global().async {
                DispatchQueue.main.async { ran.withLock { $0 = Thread.isMainThread } }
            }
            pump("main queue") { ran.withLock { $0 } }
        }
    }

    func testResumesTasksThatSlept() {
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
