import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// The contents of the disk while a body arrives.
@Suite(.timeLimit(.minutes(1))) struct WriteBehindTests {
    private static let body = FaultServer.pattern(600_000)

    /// Counts the writes and what was written, and fails them when told to.
    private final class Disk: Sendable {
        let byteCount = LockBox(0)
        let fullFrom = LockBox(Int.max)
        let written = LockBox<[(limit: Int, countdown: Countdown)]>([])

        var write: PartialBodyStore.Write {
            { [self] descriptor, bytes, offset in
                let isFull = byteCount.withLock { $0 + bytes.count > fullFrom.withLock { $0 } }
                if isFull {
                    errno = ENOSPC
                    return -1
                }
                let result = pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
                let count = byteCount.withLock { count in
                    count += max(0, result)
                    return count
                }
                for entry in written.withLock({ $0 }) where count >= entry.limit { entry.countdown.signal() }
                return result
            }
        }

        /// Waits until so many bytes are written.
        func wait(for limit: Int) async throws {
            let countdown = Countdown()
            written.withLock { $0.append((limit, countdown)) }
            if byteCount.withLock({ $0 }) >= limit { countdown.signal() }
            try await countdown.wait()
        }
    }

    @Test func aLongBodyIsWrittenWhileItArrives() async throws {
        let disk = Disk()
        let fixture = try ResumeFixture(write: disk.write)
        let (recording, task, transfer) = try await fixture.load()
        transfer.respond(200, ["ETag": ResumeFixture.tag], byteCount: 600_000)
        for start in stride(from: 0, to: 400_000, by: 16_000) { transfer.send(Self.body[start..<start + 16_000]) }
        // All but less than a step, and the load goes on.
        try await disk.wait(for: 400_000 - ResumableBody.stepByteCount)
        let name = try #require(fixture.files.first)
        let copy = try Data(contentsOf: URL(filePath: fixture.path(name)))

        // A killed process leaves the file as it is now, and no lock.
        let other = try ResumeFixture()
        try other.directory.write(copy, to: "partial/\(try other.key().digest).partial")
        chmod(other.directory.path("partial"), 0o700)
        let (second, _, next) = try await other.load()
        let offset = try #require(next.offset)
        #expect(offset > 400_000 - ResumableBody.stepByteCount && offset <= 400_000)
        next.continueBody(Self.body, from: offset)
        #expect(try await second.body() == Self.body)
        task.cancel()
        #expect(try await recording.error() == .cancelled)
    }

    @Test func aShortBodyIsNotWrittenWhileItArrives() async throws {
        let disk = Disk()
        let fixture = try ResumeFixture(write: disk.write)
        for announced in [127_000, nil] as [Int64?] {
            let (recording, _, transfer) = try await fixture.load()
            transfer.respond(200, ["ETag": ResumeFixture.tag], byteCount: announced)
            transfer.send(Self.body.prefix(127_000))
            transfer.finish()
            #expect(try await recording.body().count == 127_000)
            await fixture.settle()
        }
        #expect(disk.byteCount.withLock { $0 } == 0)
        #expect(fixture.files.isEmpty)
    }

    @Test func aFullDiskEndsTheStoringAndNotTheLoad() async throws {
        let disk = Disk()
        disk.fullFrom.withLock { $0 = 200_000 }
        let fixture = try ResumeFixture(write: disk.write)
        let (recording, _, transfer) = try await fixture.load()
        transfer.respond(200, ["ETag": ResumeFixture.tag], byteCount: 600_000)
        transfer.send(Self.body.prefix(150_000))
        try await disk.wait(for: 150_000)
        transfer.send(Self.body[150_000..<400_000])
        transfer.cut()
        #expect(try await recording.error() != nil)
        #expect(recording.byteCount == 400_000)
        // The bytes written before are valid.
        let (second, _, next) = try await fixture.load()
        #expect(next.range == "bytes=150000-")
        disk.fullFrom.withLock { $0 = .max }
        next.continueBody(Self.body, from: 150_000)
        #expect(try await second.body() == Self.body)
    }

    @Test func aFullDiskLeavesNoFile() async throws {
        let disk = Disk()
        for limit in [0, 100, 1000] {
            disk.fullFrom.withLock { $0 = limit }
            let fixture = try ResumeFixture(write: disk.write)
            try await fixture.interrupt(Self.body, after: 400_000)
            await fixture.settle()
            #expect(fixture.files.isEmpty)
        }
    }

    @Test func twoLoadsOfOneBodyDoNotDisturbEachOther() async throws {
        let disk = Disk()
        let fixture = try ResumeFixture(write: disk.write)
        let (first, _, transfer) = try await fixture.load()
        transfer.respond(200, ["ETag": ResumeFixture.tag], byteCount: 600_000)
        transfer.send(Self.body.prefix(300_000))
        try await disk.wait(for: 300_000)
        // In this process, and, as another store shows, from another one.
        let otherStore = PartialBodyStore(configuration: fixture.store.configuration)
        for loader in [fixture.loader, ResumingLoader(fixture.origin, store: otherStore)] {
            let (recording, _) = loader.record(try ResumeFixture.url())
            let next = try await fixture.origin.next()
            #expect(next.range == nil)
            next.respond(200, ["ETag": "\"v2\""], byteCount: 600_000)
            next.send(Self.body.prefix(200_000))
            next.cut()
            #expect(try await recording.error() != nil)
        }
        // What it writes after that it could write where the first has let go.
        await fixture.settle()
        transfer.cut()
        #expect(try await first.error() != nil)
        let (second, _, next) = try await fixture.load()
        #expect(next.ifRange == ResumeFixture.tag && next.range == "bytes=300000-")
        next.continueBody(Self.body, from: 300_000)
        #expect(try await second.body() == Self.body)
    }

    // MARK: Bounds

    @Test func bodiesAreBoundedInBytesAndTheOldestAreDeletedFirst() async throws {
        let fixture = try ResumeFixture(configure: { $0.byteLimit = 1_000_000 })
        for number in 0..<8 {
            try await fixture.interrupt(Self.body, after: 300_000, url: ResumeFixture.url("\(number)"))
            await fixture.settle()
            // The first is used again each time.
            #expect(try await fixture.requestedRange(url: ResumeFixture.url("0")) == "bytes=300000-")
            await fixture.settle()
            #expect(fixture.byteCount <= 1_000_000)
        }
        #expect(fixture.files.count == 3)
        #expect(try await fixture.requestedRange(url: ResumeFixture.url("7")) == "bytes=300000-")
        #expect(try await fixture.requestedRange(url: ResumeFixture.url("1")) == nil)
    }

    @Test func oneBodyIsBoundedByTheTotalLimit() async throws {
        let fixture = try ResumeFixture(configure: { $0.byteLimit = 400_000 })
        try await fixture.interrupt(Self.body, after: 600_000)
        await fixture.settle()
        #expect((1...400_000).contains(fixture.byteCount))
        let (recording, _, transfer) = try await fixture.load()
        let offset = try #require(transfer.offset)
        transfer.continueBody(Self.body, from: offset)
        #expect(try await recording.body() == Self.body)
    }

    /// If the disk is slower than the network.
    @Test func theBytesWaitingToBeWrittenAreBounded() throws {
        let store = try ResumeFixture().store
        #expect(store.admit(10 << 20) && store.admit(6 << 20))
        #expect(!store.admit(1))
        store.settle(6 << 20)
        #expect(!store.admit(7 << 20))
        #expect(store.admit(6 << 20))
    }

    @Test func bodiesAreBoundedInNumber() async throws {
        let fixture = try ResumeFixture(configure: { $0.countLimit = 3 })
        for number in 0..<6 {
            try await fixture.interrupt(Self.body, after: 200_000, url: try ResumeFixture.url("\(number)"))
            await fixture.settle()
            #expect(fixture.files.count <= 3)
        }
        #expect(try await fixture.requestedRange(url: ResumeFixture.url("5")) == "bytes=200000-")
    }

    @Test func oldBodiesAreDeleted() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        await fixture.settle()
        let name = try #require(fixture.files.first)
        let path = fixture.path(name)
        var times = [timespec(), timespec()]
        clock_gettime(CLOCK_REALTIME, &times[1])
        times[1].tv_sec -= 7 * 86_400 + 10
        times[0] = times[1]
        utimensat(AT_FDCWD, path, &times, 0)
        // At the next that is kept, or when it is asked for.
        try await fixture.interrupt(Self.body, after: 200_000, url: ResumeFixture.url("b"))
        await fixture.settle()
        #expect(access(path, F_OK) != 0)
        let nextName = try #require(fixture.files.first)
        utimensat(AT_FDCWD, fixture.path(nextName), &times, 0)
        #expect(try await fixture.requestedRange(url: ResumeFixture.url("b")) == nil)
    }

    /// From before the clock went back.
    @Test func aBodyDatedInTheFutureCountsAsUsedNow() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        await fixture.settle()
        let path = fixture.path(try #require(fixture.files.first))
        var times = [timespec(), timespec()]
        clock_gettime(CLOCK_REALTIME, &times[1])
        let now = times[1].tv_sec
        times[1].tv_sec += 64 * 31_557_600
        times[0] = times[1]
        utimensat(AT_FDCWD, path, &times, 0)
        try await fixture.interrupt(Self.body, after: 200_000, url: ResumeFixture.url("b"))
        await fixture.settle()
        var status = stat()
        try #require(stat(path, &status) == 0)
        #expect((now...now + 600).contains(status.st_mtim.tv_sec))
    }

    @Test func theReservedSpaceStaysFree() async throws {
        let fixture = try ResumeFixture(configure: { $0.freeSpaceFloor = 1 << 60 })
        try await fixture.interrupt(Self.body, after: 400_000)
        await fixture.settle()
        #expect(fixture.files.isEmpty)
    }
}
