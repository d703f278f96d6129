import Foundation
import Testing

@testable import WebImageCore

@Suite struct PlatformThreadTests {
    @Test func triesASmallerStackWhenThereIsNoRoomForALargeOne() {
        let done = DispatchSemaphore(value: 0)
        #expect(PlatformThread.start(name: "small", stackByteCounts: [1 << 60, 512 << 10]) { done.signal() })
        #expect(done.wait(timeout: .now() + 10) == .success)
    }

    @Test func tellsThatThereIsNoRoom() {
        #expect(!PlatformThread.start(name: "none", stackByteCounts: [1 << 60]) {})
    }
}
