import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct RegularFileTests {
    /// The results of the calls of `write`; `nil` if it writes everything.
    private func write(_ answers: [(count: Int, errno: Int32)?]) -> (bytes: [UInt8], failure: Int32?, callCount: Int) {
        let source = Array(UInt8(0)..<20)
        var (written, callCount): ([UInt8], Int) = ([], 0)
        let failure = source.withUnsafeBytes { bytes -> Int32? in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, offset in
                    defer { callCount += 1 }
                    // Ends an endless loop.
                    guard callCount < 100 else {
                        errno = E2BIG
                        return -1
                    }
                    let answer = callCount < answers.count ? answers[callCount] : nil
                    errno = answer?.errno ?? 0
                    let count = answer?.count ?? rest.count
                    #expect(offset == written.count)
                    written += rest.prefix(max(0, count))
                    return count
                }
                return nil
            } catch {
                return error.errno
            }
        }
        return (written, failure, callCount)
    }

    @Test func writesTheRestAfterAPartialWrite() {
        let result = write([(7, 0), (-1, EINTR), (3, EINTR), nil])
        #expect(result.bytes == Array(UInt8(0)..<20))
        #expect(result.failure == nil && result.callCount == 4)
    }

    /// A call that writes nothing does not change `errno`, which an earlier call may have set.
    @Test(arguments: [0, EINTR, ENOSPC]) func failsIfACallWritesNothing(staleNumber: Int32) {
        let result = write([(7, 0), (0, staleNumber), (0, staleNumber)])
        #expect(result.failure == EIO && result.callCount == 2)
    }

    @Test func stopsAtTheFirstError() {
        #expect(write([(7, 0), (-1, ENOSPC)]).failure == ENOSPC)
    }

    @Test(.timeLimit(.minutes(1))) func opensOnlyRegularFiles() throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write(Data([1]), to: "file").path
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        try #require(symlink(file, folder.path("link")) == 0)
        try #require(symlink(folder.path("victim"), folder.path("dangling")) == 0)
        for flags in [O_RDONLY, O_WRONLY, O_RDWR | O_CREAT] {
            for name in ["pipe", "link", "dangling", ""] {
                #expect {
                    close(try RegularFile.open(folder.path(name), flags))
                } throws: { error in
                    (error as? RegularFile.Failure)?.isObstacle == true
                }
            }
            close(try RegularFile.open(file, flags))
        }
        #expect(access(folder.path("victim"), F_OK) != 0)
    }

    @Test func everythingButARegularFileIsAnObstacle() throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write(Data([1]), to: "file").path
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        try #require(symlink(file, folder.path("link")) == 0)
        for name in ["pipe", "link", ""] { #expect(RegularFile.isObstructed(folder.path(name))) }
        for name in ["file", "missing"] { #expect(!RegularFile.isObstructed(folder.path(name))) }
    }

    @Test func comparesTheFreeSpaceWithTheBytesToWrite() throws {
        let folder = try TemporaryDirectory()
        let descriptor = try RegularFile.open(try folder.write(Data([1]), to: "file").path, O_RDONLY)
        defer { withExtendedLifetime(folder) { _ = close(descriptor) } }
        #expect(RegularFile.hasSpace(for: 0, on: descriptor) == true)
        #expect(RegularFile.hasSpace(for: .max, on: descriptor) == false)
        #expect(RegularFile.hasSpace(for: 0, on: -1) == nil)
    }
}
