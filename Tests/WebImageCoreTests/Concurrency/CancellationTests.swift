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
}
