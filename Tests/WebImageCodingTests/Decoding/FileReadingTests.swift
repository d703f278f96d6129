import Foundation
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageCore

@Suite(.timeLimit(.minutes(1))) struct FileReadingTests {
    private let folder: TemporaryDirectory
    /// Longer than two parts, and not a multiple of one.
    private let bytes = (1...6).reduce(into: Data([0])) { $0 += Data(repeating: UInt8($1), count: 1 << 19) }

    init() throws { folder = try TemporaryDirectory() }

    private func failure(_ body: () throws(WebImageError) -> Data) -> WebImageError? {
        do throws(WebImageError) {
            _ = try body()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [false, true]) func readsAFileToItsEndOrToTheLimit(allowsStreams: Bool) throws {
        let path = try folder.write(bytes, to: "file").path
        #expect(try Data(contentsOfFile: path, allowsStreams: allowsStreams) == bytes)
        #expect(try Data(contentsOfFile: path, upTo: 1_000, allowsStreams: allowsStreams) == bytes.prefix(1_000))
        let empty = try folder.write(Data(), to: "empty").path
        #expect(try Data(contentsOfFile: empty, allowsStreams: allowsStreams).isEmpty)
    }

    @Test func readsAStreamToItsEnd() throws {
        let pipe = Pipe()
        let (writer, bytes) = (pipe.fileHandleForWriting, bytes)
        Thread.detachNewThread {
            writer.write(bytes)
            try? writer.close()
        }
        let path = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        #expect(try Data(contentsOfFile: path, allowsStreams: true) == bytes)
    }

    /// The kernel states a length of 0.
    @Test func readsAFileWithoutALengthAsAStream() throws {
        let path = "/proc/self/status"
        #expect(try Data(contentsOfFile: path).isEmpty)
        #expect(try Data(contentsOfFile: path, allowsStreams: true).starts(with: Data("Name:".utf8)))
    }

    @Test func doesNotWaitForTheEndOfAStreamThatHasReachedTheLimit() throws {
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(bytes.prefix(1_000))
        let path = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        #expect(try Data(contentsOfFile: path, upTo: 10, allowsStreams: true) == bytes.prefix(10))
    }

    @Test func refusesWhatIsNoRegularFileAndDoesNotWaitForAPipe() throws {
        let path = folder.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        #expect(
            failure { () throws(WebImageError) in try Data(contentsOfFile: path) }
                == .file(path: path, errno: EOPNOTSUPP))
        let directory = folder.path("")
        for allowsStreams in [false, true] {
            let error = failure { () throws(WebImageError) in
                try Data(contentsOfFile: directory, allowsStreams: allowsStreams)
            }
            #expect(error == .file(path: directory, errno: EISDIR))
        }
    }

    @Test(arguments: [false, true]) func namesAMissingFile(allowsStreams: Bool) {
        let path = folder.path("missing")
        let error = failure { () throws(WebImageError) in try Data(contentsOfFile: path, allowsStreams: allowsStreams) }
        #expect(error == .file(path: path, errno: ENOENT))
    }

    @Test(arguments: [false, true]) func stopsBetweenTwoPartsWhenItIsCancelled(allowsStreams: Bool) throws {
        let path = try folder.write(bytes, to: "file").path
        let checkpoints = Checkpoints(cancellingAt: 2)
        let error = failure { () throws(WebImageError) in
            try Data(contentsOfFile: path, allowsStreams: allowsStreams, cancellation: checkpoints.cancellation)
        }
        #expect(error == .cancelled)
        #expect(checkpoints.count == 2)
    }
}
