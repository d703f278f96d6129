import Foundation
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// Keeps the threads of a queue from its work until they are released.
final class HeldQueue: Sendable {
    private let end = DispatchSemaphore(value: 0)
    private let threadCount: Int

    @MainActor init(_ queue: WorkQueue, threadCount: Int) {
        self.threadCount = threadCount
        let heldCount = LockBox(0)
        for _ in 0..<threadCount {
            queue.submit { [end] in
                heldCount.withLock { $0 += 1 }
                end.wait()
            }
        }
        pump("the threads") { heldCount.withLock { $0 } == threadCount }
    }

    func release() { for _ in 0..<threadCount { end.signal() } }
}
