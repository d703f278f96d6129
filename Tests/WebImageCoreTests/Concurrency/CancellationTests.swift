import Testing
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct CancellationTests {
    @Test func staysCancelled() throws {
        let cancellation = Cancellation()
        #expect(!cancellation.isCancelled)
        try cancellation.check()
        cancellation.cancel()
        cancellation.cancel()
        #expect(cancellation.isCancelled)
        #expect(throws: WebImageError.cancelled) { try cancellation.check() }
    }

    @Test func cancellingCallsTheHandlersOfWaits() {
        let cancellation = Cancellation()
        let count = LockBox(0)
        let handler: @Sendable () -> Void = { count.withLock { $0 += 1 } }
        cancellation.withHandler(handler) {
            cancellation.withHandler(handler) {}
            #expect(count.withLock { $0 } == 0)
            cancellation.cancel()
            #expect(count.withLock { $0 } == 1)
            cancellation.cancel()
            #expect(count.withLock { $0 } == 1)
        }
        // At once.
        cancellation.withHandler(handler) { #expect(count.withLock { $0 } == 2) }
    }

    @Test func cancellingAParentCallsTheHandlers() {
        let parent = Cancellation()
        let child = TimeBudget(.seconds(1000)).cancellation(after: parent)
        let count = LockBox(0)
        child.withHandler({ count.withLock { $0 += 1 } }) { parent.cancel() }
        #expect(count.withLock { $0 } == 1)
    }
}
