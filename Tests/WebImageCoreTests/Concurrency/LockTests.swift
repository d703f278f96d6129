import Foundation
import Glibc
import Testing
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct LockTests {
    private final class Counter: Sendable {
        let value = Lock(0)
    }

    /// Four threads compete for two processors, so that they spin, sleep and wake.
    @Test func threadsAccessTheValueOneAtATime() {
        let counter = Counter()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<50_000 { counter.value.withLock { $0 += 1 } }
        }
        #expect(counter.value.withLock { $0 } == 200_000)
    }

    @Test func aThreadWaitsForOneThatHoldsTheLockForLong() async {
        let (box, isHeld, release) = (LockBox(0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let holder = Thread {
            box.withLock { value in
                isHeld.signal()
                release.wait()
                value = 1
            }
        }
        holder.start()
        let seen = await withCheckedContinuation { continuation in
            Thread {
                isHeld.wait()
                Thread { release.signal() }.start()
                continuation.resume(returning: box.withLock { $0 })
            }.start()
        }
        #expect(seen == 1)
    }

    @Test func anErrorReleasesTheLock() {
        struct Failure: Error {}
        let box = LockBox(0)
        #expect(throws: Failure.self) {
            try box.withLock { value in
                value = 1
                throw Failure()
            }
        }
        #expect(box.withLock { $0 } == 1)
    }

    @Test func keepsTheErrorNumberOfTheThread() {
        let counter = Counter()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            errno = ENOENT
            for _ in 0..<20_000 { counter.value.withLock { $0 += 1 } }
            #expect(errno == ENOENT)
        }
    }

    @Test func releasesTheValue() {
        weak var value: NSObject?
        do {
            let box = LockBox(NSObject())
            value = box.withLock { $0 }
            #expect(value != nil)
        }
        #expect(value == nil)
    }
}
