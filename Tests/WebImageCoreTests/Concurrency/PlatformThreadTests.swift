import Foundation
import Testing

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct PlatformThreadTests {
    @Test func triesASmallerStackIfALargeOneCannotBeAllocated() {
        let done = DispatchSemaphore(value: 0)
        #expect(PlatformThread.start(name: "small", stackByteCounts: [1 << 60, 512 << 10]) { done.signal() })
        #expect(done.wait(timeout: .now() + 10) == .success)
    }

    @Test func onlyTheFirstThreadIsTheMainOne() {
        @Sendable func check() {
            let isFirst = PlatformThread.currentID == getpid()
            // The second call knows the answer to the first.
            for _ in 0..<2 { #expect(PlatformThread.isMain == isFirst) }
        }
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.main.async {
            check()
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 10) == .success)
        _ = PlatformThread.start(name: "other", stackByteCounts: [512 << 10]) {
            check()
            #expect(!PlatformThread.isMain)
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 10) == .success)
    }

    @Test func failsIfNoStackCanBeAllocated() {
        #expect(!PlatformThread.start(name: "none", stackByteCounts: [1 << 60]) {})
    }
}
