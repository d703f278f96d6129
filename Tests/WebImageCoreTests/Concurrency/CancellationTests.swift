import Testing
import WebImageCore

@Suite struct CancellationTests {
    @Test func staysSet() throws {
        let cancellation = Cancellation()
        #expect(!cancellation.isCancelled)
        try cancellation.check()
        cancellation.cancel()
        cancellation.cancel()
        #expect(cancellation.isCancelled)
        #expect(throws: WebImageError.cancelled) { try cancellation.check() }
    }
}
