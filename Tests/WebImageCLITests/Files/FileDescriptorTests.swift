import Foundation
import Testing
import WebImageCore

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct FileDescriptorTests {
    @Test func waitsForAReaderOfANonblockingPipe() throws {
        let pair = try StreamPair()
        try #require(fcntl(pair.writingEnd.fileDescriptor, F_SETFL, O_NONBLOCK) == 0)
        // Much more than the pipe's buffer, and the reader reads smaller pieces.
        let data = Data(count: 8 << 20)
        let status = LockBox<Int32?>(nil)
        _ = PlatformThread.start(name: "writer") {
            let result = FileDescriptor(pair.writingEnd.fileDescriptor).write(data)
            status.withLock { $0 = result }
            try? pair.writingEnd.close()
        }
        var received = 0
        while let piece = try pair.readingEnd.read(upToCount: 4_096), !piece.isEmpty { received += piece.count }
        #expect(status.withLock { $0 } == 0)
        #expect(received == data.count)
    }
}
