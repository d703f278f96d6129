import Foundation
import Testing

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct PlatformThreadTests {
    @Test func triesASmallerStackIfALargeOneCannotBeAllocated() {
        let done = DispatchSemaphore(value: 0)
        #expect(PlatformThread.start(name: "small", stackByteCounts: [1 << 60, 512 << 10]) { done.signal() })
        #expect(done.wait(timeout: .now() + 10) == .success)
    }

    @Test func failsIfNoStackCanBeAllocated() {
        #expect(!PlatformThread.start(name: "none", stackByteCounts: [1 << 60]) {})
    }
}
