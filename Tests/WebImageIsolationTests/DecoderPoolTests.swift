import Dispatch
import FoundationEssentials
import Glibc
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageIsolation

/// Who gets a decoder process, and when.
@Suite(.serialized, .timeLimit(.minutes(3))) struct DecoderPoolTests {
    private let isolation: IsolatedDecoding
    private let registry: CodecRegistry

    init() throws {
        isolation = IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = 1
                configuration.slowPeriod = .seconds(1000)
            })
        registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
    }

    @Test func aProcessThatIsNotReadyInTimeIsNotCalledMissing() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data("#!/bin/sh\nexec sleep 60\n".utf8), to: "slow")
        chmod(directory.path("slow"), 0o755)
        let failure = #expect(throws: UnavailableDecoder.self) {
            _ = try DecoderProcess(
                path: directory.path("slow"), slowPeriod: .seconds(1), startPeriod: .milliseconds(50))
        }
        #expect(failure?.failure == .startTimedOut(after: .milliseconds(50)))
        let error = WebImageError.isolation(format: .tiff, reason: .startTimedOut(after: .seconds(10)))
        #expect(error.userAdvice == "The machine may have too much work. Try again.")
        #expect(error.description.contains("its process was not ready within 10 s"))
    }

    /// Decodes a file that makes the process do what `word` says, on a thread of its own.
    private func decode(
        _ word: String, _ cancellation: Cancellation? = nil
    ) -> Task<WebImageError?, Never> {
        let options = DecodingOptions(cancellation: cancellation)
        return Task.detached { [registry] in
            await withCheckedContinuation { continuation in
                _ = PlatformThread.start(name: "decoding") {
                    var failure: WebImageError?
                    do throws(WebImageError) {
                        _ = try registry.decode(MisbehaviorTests.file(word), options: options)
                    } catch {
                        failure = error
                    }
                    continuation.resume(returning: failure)
                }
            }
        }
    }

    private func wait(until condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    @Test func theMostUrgentImageGetsTheNextProcess() async {
        let pool = isolation.pool
        let release = DispatchSemaphore(value: 0)
        _ = PlatformThread.start(name: "holding") {
            try? pool.withProcess(within: .minute) { _ in release.wait() }
        }
        await wait { pool.busyCount == 1 }
        let order = LockBox<[LoadPriority]>([])
        let priorities: [LoadPriority] = [.low, .normal, .veryHigh, .high, .low, .normal]
        for (index, priority) in priorities.enumerated() {
            _ = PlatformThread.start(name: "waiting") {
                try? pool.withProcess(priority: priority, within: .minute) { _ in
                    order.withLock { $0.append(priority) }
                }
            }
            await wait { pool.waitingCount == index + 1 }
        }
        release.signal()
        await wait { order.withLock { $0.count } == priorities.count }
        #expect(order.withLock { $0 } == [.veryHigh, .high, .normal, .normal, .low, .low])
    }

    @Test func cancellingEndsTheWaitForAProcess() async {
        let (cancellation, other) = (Cancellation(), Cancellation())
        let sleeping = decode("sleep", cancellation)
        await wait { isolation.pool.busyCount == 1 }
        let waiting = decode("fine", other)
        await wait { isolation.pool.waitingCount == 1 }
        other.cancel()
        #expect(await waiting.value == .cancelled)
        #expect(isolation.pool.waitingCount == 0)
        #expect(isolation.pool.busyCount == 1)
        cancellation.cancel()
        #expect(await sleeping.value == .cancelled)
        #expect(await decode("fine").value == nil)
    }

    /// Processes whose images are all slow at once.
    private func slowIsolation(processCount: Int) -> (IsolatedDecoding, CodecRegistry) {
        let isolation = IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = processCount
                configuration.slowPeriod = .milliseconds(1)
            })
        return (isolation, CodecRegistry().isolated(by: .allFormats, in: isolation))
    }

    @Test(arguments: [1, 2, 3]) func slowImagesLeaveTheirPlacesToOthers(processCount: Int) async {
        let (isolation, registry) = slowIsolation(processCount: processCount)
        let cancellation = Cancellation()
        // On the threads that decode, all of them and more.
        let count = DecodingQueue.shared.threadCount + 6
        let ended = LockBox(0)
        for _ in 0..<count {
            DecodingQueue.shared.submit {
                _ = try? registry.decode(
                    MisbehaviorTests.file("loop"), options: DecodingOptions(cancellation: cancellation))
                ended.withLock { $0 += 1 }
            }
        }
        // One has the slow place, some were not made to leave by another image, and the others wait for the slow place.
        await wait {
            isolation.pool.slowCount == 1 && isolation.pool.busyCount == processCount
                && isolation.pool.waitingCount == count - 1 - processCount
        }
        let image = await DecodingQueue.run { try? registry.decode(MisbehaviorTests.file("fine")) }
        #expect(image?.pixels[7, 7] == SIMD4(repeating: 17))
        #expect(ended.withLock { $0 } == 0)
        #expect(isolation.pool.slowCount == 1)
        cancellation.cancel()
        await wait { ended.withLock { $0 } == count }
        #expect(isolation.pool.slowCount == 0 && isolation.pool.busyCount == 0)
        #expect(isolation.pool.idleCount <= processCount)
    }

    @Test func slowImagesHaveHalfOfTheProcessesAtMost() async {
        let (isolation, registry) = slowIsolation(processCount: 4)
        let cancellation = Cancellation()
        let ended = LockBox(0)
        for _ in 0..<9 {
            _ = PlatformThread.start(name: "decoding") {
                _ = try? registry.decode(
                    MisbehaviorTests.file("sleep"), options: DecodingOptions(cancellation: cancellation))
                ended.withLock { $0 += 1 }
            }
        }
        await wait {
            isolation.pool.slowCount == 2 && isolation.pool.busyCount == 4 && isolation.pool.waitingCount == 3
        }
        #expect(isolation.pool.slowCount == 2)
        cancellation.cancel()
        await wait { ended.withLock { $0 } == 9 }
        #expect(isolation.pool.slowCount == 0 && isolation.pool.busyCount == 0)
    }

    @Test func anImageThatHadToLeaveIsDecodedLater() async {
        let (isolation, registry) = slowIsolation(processCount: 1)
        let cancellation = Cancellation()
        func start(_ word: String, _ cancellation: Cancellation? = nil) -> LockBox<SIMD4<UInt8>??> {
            let result = LockBox<SIMD4<UInt8>??>(nil)
            _ = PlatformThread.start(name: "decoding") {
                let image = try? registry.decode(
                    MisbehaviorTests.file(word), options: DecodingOptions(cancellation: cancellation))
                result.withLock { $0 = .some(image?.pixels[0, 0]) }
            }
            return result
        }
        let holding = start("loop", cancellation)
        await wait { isolation.pool.slowCount == 1 }
        let late = start("late")
        await wait { isolation.pool.busyCount == 1 }
        let fine = start("fine")
        await wait { fine.withLock { $0 } != nil }
        #expect(fine.withLock { $0 } == SIMD4(repeating: 17))
        cancellation.cancel()
        await wait { late.withLock { $0 } != nil && holding.withLock { $0 } != nil }
        #expect(late.withLock { $0 } == SIMD4(repeating: 17))
        #expect(isolation.pool.counters.failures[.png] == nil)
    }

    @Test func anImageThatBeginsAnewHasASlowPlace() throws {
        try isolation.pool.withProcess(place: .slow, within: .minute) { process in
            #expect(process.isSlow && isolation.pool.slowCount == 1 && isolation.pool.busyCount == 0)
        }
        #expect(isolation.pool.slowCount == 0 && isolation.pool.busyCount == 0)
    }

    @Test func aProcessOfLowPriorityIsReplaced() throws {
        try isolation.pool.withProcess(within: .minute) { $0.lowerPriority() }
        #expect(isolation.pool.idleCount == 0)
        _ = try registry.decode(MisbehaviorTests.file("fine"))
        #expect(isolation.pool.counters.startedProcessCount == 2)
    }

    @Test func waitingForAPlaceHasTheDeadlineOfTheRequest() async {
        let isolation = IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = 1
                configuration.timePerImage = .milliseconds(200)
            })
        let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
        isolation.pool.changeState { $0.busy.append(.core) }
        #expect(throws: WebImageError.isolation(format: .png, reason: .timedOut(after: .milliseconds(200)))) {
            try registry.decode(MisbehaviorTests.file("fine"))
        }
        #expect(isolation.pool.waitingCount == 0)
        isolation.pool.changeState { $0.busy = [] }
    }

    @Test func aProcessIsReplacedAfterSomeImages() throws {
        let isolation = IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = 1
                configuration.imagesPerProcess = 3
            })
        let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
        for _ in 0..<7 { _ = try registry.decode(MisbehaviorTests.file("fine")) }
        #expect(isolation.pool.counters.startedProcessCount == 3)
    }

    @Test func aStartThatFailedIsNotTriedAgainAtOnce() throws {
        let configuration = IsolatedDecoding.Configuration(decoder: "MisbehavingDecoder")
        let target = try #require(configuration.path)
        let path = TemporaryPath.unique()
        var missing = configuration
        missing.path = path
        let registry = CodecRegistry().isolated(by: .allFormats, in: IsolatedDecoding(configuration: missing))
        func failure() -> WebImageError? {
            do throws(WebImageError) {
                _ = try registry.decode(MisbehaviorTests.file("fine"))
                return nil
            } catch {
                return error
            }
        }
        let first = failure()
        guard case .isolation(.png, .unavailable, _)? = first else {
            Issue.record("\(String(describing: first))")
            return
        }
        try #require(symlink(target, path) == 0)
        defer { unlink(path) }
        #expect(failure() == first)
        // The next program does not know of it.
        let other = CodecRegistry().isolated(by: .allFormats, in: IsolatedDecoding(configuration: missing))
        #expect(throws: Never.self) { try other.decode(MisbehaviorTests.file("fine")) }
    }

    /// Also those that have no place: no process will end that would make one free.
    @Test func allThatWaitForAStartThatFailsGetTheError() async {
        var configuration = IsolatedDecoding.Configuration(decoder: "MisbehavingDecoder")
        configuration.processCount = 1
        configuration.path = TemporaryPath.unique()
        let isolation = IsolatedDecoding(configuration: configuration)
        let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
        isolation.pool.changeState { $0.busy = [.core] }
        let failedCount = LockBox(0)
        for index in 0..<4 {
            _ = PlatformThread.start(name: "decoding") {
                #expect(throws: WebImageError.self) { try registry.decode(MisbehaviorTests.file("fine")) }
                failedCount.withLock { $0 += 1 }
            }
            await wait { isolation.pool.waitingCount == index + 1 }
        }
        isolation.pool.changeState { $0.busy = [] }
        await wait { failedCount.withLock { $0 } == 4 }
        #expect(failedCount.withLock { $0 } == 4)
    }

    @Test func cancellingEndsAProcessAndAnotherIsReady() async {
        let (isolation, registry) = slowIsolation(processCount: 1)
        let cancellation = Cancellation()
        let ended = LockBox(false)
        _ = PlatformThread.start(name: "decoding") {
            let options = DecodingOptions(cancellation: cancellation)
            #expect(throws: WebImageError.cancelled) {
                try registry.decode(MisbehaviorTests.file("sleep"), options: options)
            }
            ended.withLock { $0 = true }
        }
        // It waits for the reply.
        await wait { isolation.pool.slowCount == 1 }
        cancellation.cancel()
        await wait { ended.withLock { $0 } && isolation.pool.idleCount == 1 }
        #expect(isolation.pool.counters.startedProcessCount == 2)
    }

    @Test func aProcessIsKeptReady() async throws {
        let isolation = IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = 2
                configuration.keepsProcessReady = true
                configuration.idlePeriod = .milliseconds(20)
            })
        isolation.prepare()
        await wait { isolation.pool.idleCount == 1 }
        #expect(isolation.pool.counters.startedProcessCount == 1)
        let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
        _ = try registry.decode(MisbehaviorTests.file("fine"))
        await wait { isolation.pool.counters.startedProcessCount == 2 && isolation.pool.busyCount == 0 }
        // The other one ends after a while.
        await wait { isolation.pool.idleCount == 1 }
        _ = try? registry.decode(MisbehaviorTests.file("exit"))
        await wait { isolation.pool.idleCount >= 1 }
    }
}

enum TemporaryPath {
    static func unique() -> String { "/tmp/webimage-test-\(getpid())-\(UInt64.random(in: 0 ... .max))" }
}
