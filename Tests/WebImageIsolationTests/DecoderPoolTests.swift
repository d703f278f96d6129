import Dispatch
import FoundationEssentials
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
            try? pool.withProcess(cancellation: nil) { _ in release.wait() }
        }
        await wait { pool.busyCount == 1 }
        let order = LockBox<[LoadPriority]>([])
        let priorities: [LoadPriority] = [.low, .normal, .veryHigh, .high, .low, .normal]
        for (index, priority) in priorities.enumerated() {
            _ = PlatformThread.start(name: "waiting") {
                try? pool.withProcess(priority: priority, cancellation: nil) { _ in
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

    @Test func slowImagesLeaveTheirPlacesToOthers() async {
        let isolation = IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = 1
                configuration.slowPeriod = .milliseconds(1)
            })
        let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
        let cancellation = Cancellation()
        // On the threads that decode, all of them.
        let count = DecodingQueue.shared.threadCount
        guard count <= 4 else { return }
        let ended = LockBox(0)
        for _ in 0..<count {
            DecodingQueue.shared.submit {
                _ = try? registry.decode(
                    MisbehaviorTests.file("loop"), options: DecodingOptions(cancellation: cancellation))
                ended.withLock { $0 += 1 }
            }
        }
        await wait { isolation.pool.slowCount == count }
        let image = await DecodingQueue.run { try? registry.decode(MisbehaviorTests.file("fine")) }
        #expect(image?.pixels[7, 7] == SIMD4(repeating: 17))
        #expect(ended.withLock { $0 } == 0)
        cancellation.cancel()
        await wait { ended.withLock { $0 } == count }
        #expect(isolation.pool.slowCount == 0)
        #expect(isolation.pool.idleCount <= 1)
    }

    @Test func aFewSlowImagesAtMostLeaveTheirPlaces() async {
        let isolation = IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = 1
                configuration.slowPeriod = .milliseconds(1)
            })
        let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
        let cancellation = Cancellation()
        let ended = LockBox(0)
        for _ in 0..<6 {
            _ = PlatformThread.start(name: "decoding") {
                _ = try? registry.decode(
                    MisbehaviorTests.file("sleep"), options: DecodingOptions(cancellation: cancellation))
                ended.withLock { $0 += 1 }
            }
        }
        await wait { isolation.pool.slowCount == 4 && isolation.pool.waitingCount == 1 }
        #expect(isolation.pool.busyCount == 1)
        cancellation.cancel()
        await wait { ended.withLock { $0 } == 6 }
        #expect(isolation.pool.slowCount == 0 && isolation.pool.busyCount == 0)
    }
}
