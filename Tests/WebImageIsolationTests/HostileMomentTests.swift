import Dispatch
import FoundationEssentials
import Glibc
import MisbehavingDecoder
import Testing
import WebImageCoding
import WebImageCore

@testable import WebImageIsolation

/// What a process can do before, during, after and instead of a reply, at each request: one error, and the next image is decoded.
@Suite(.serialized, .timeLimit(.minutes(3))) struct HostileMomentTests {
    private enum Expectation {
        /// The request fails, and the process has been replaced.
        case error
        /// Nothing that this request needs was harmed.
        case anything
    }

    private static func done(_ reply: DecoderReply) throws -> Data { Data(try MessageEncoder.bytes(of: reply)) }

    private static let packetByteCount = 1 << 16

    private static func full(_ flag: UInt8) -> Data { Data([flag]) + Data(count: packetByteCount - 1) }

    private static func behaviors() throws -> [(name: String, actions: [Script.Action], expected: Expectation)] {
        let noSession = try done(.noSession)
        return [
            ("another kind", [.replyOf(try done(.needsFrame(1 << 29)))], .error),
            ("a session that there is not", [.replyOf(noSession)], .error),
            (
                "a first message", [.replyOf(try done(.ready(version: "", SandboxReport(layers: [], errors: [:]))))],
                .error
            ),
            ("a cancellation without a request for it", [.replyOf(try done(.failure(.cancelled)))], .error),
            ("no content", [.replyOf(Data())], .error),
            ("no packet", [.packet(Data())], .error),
            ("an empty message", [.packet(Data([0]))], .error),
            ("another flag", [.packet(Data([2, 1, 2, 3]))], .error),
            ("garbage", [.packet(Data((0..<500).map { UInt8(truncatingIfNeeded: $0 &* 37) }))], .error),
            ("a later number", [.replyOfNumber(noSession, offset: 1)], .error),
            ("an earlier number", [.replyOfNumber(noSession, offset: -1)], .error),
            ("an extreme number", [.replyOfNumber(noSession, offset: 1 << 60)], .error),
            ("earlier replies without end", [.again([.replyOfNumber(noSession, offset: -1)])], .error),
            ("twice", [.reply, .reply], .anything),
            ("many times", [.reply, .again([.reply])], .anything),
            ("half, and an end", [.packet(full(1)), .exit], .error),
            ("half, and then short", [.packet(full(1)), .packet(Data([1, 7]))], .error),
            ("parts of no length", [.packet(full(1)), .again([.packet(Data([1]))])], .error),
            ("parts without end", [.again([.packet(full(1))])], .error),
            ("memory in the middle", [.packet(full(1)), .packet(full(0), descriptors: 1)], .error),
            ("a descriptor", [.replyWithDescriptors(count: 1, isSealed: true)], .error),
            ("a descriptor that can change", [.replyWithDescriptors(count: 1, isSealed: false)], .error),
            ("many descriptors", [.replyWithDescriptors(count: 2, isSealed: true)], .error),
            ("a file", [.replyOf(try done(.needsSpool(byteCount: 1 << 39)))], .error),
            ("files without end", [.again([.replyOf(try done(.needsSpool(byteCount: 1)))])], .error),
            ("frames without end", [.again([.replyOf(try done(.needsFrame(0)))])], .error),
            ("sealed memory for files", [.seal(isInput: true, 0x10), .reply], .anything),
            ("sealed memory for results", [.seal(isInput: false, 0x10), .reply], .anything),
            ("memory that is shorter", [.shrink, .reply], .anything),
            ("memory that changes", [.reply, .rewrite], .anything),
            ("an end", [.exit], .error),
            ("an end after the reply", [.reply, .exit], .anything),
            ("a crash", [.crash], .error),
        ]
    }

    @Test func eachBehaviorAtEachRequestIsOneError() async throws {
        let before = Footprint()
        let process = HostileProcess(time: .seconds(20))
        var count = 0
        for request in HostileProcess.requests {
            for (name, actions, expected) in try Self.behaviors() {
                // Another process, which gets the second try, has no script when such a file is opened.
                let expected = request == "openIncremental" ? .anything : expected
                let result = process.outcome(Script(at: request, actions))
                count += 1
                switch result {
                case .success: #expect(expected == .anything, "\(name) at \(request)")
                case .failure(let error as WebImageError):
                    // It does not wait for the deadline, and the request was not cancelled.
                    switch error {
                    case .isolation(.png, .timedOut, _), .cancelled: Issue.record("\(name) at \(request): \(error)")
                    default: break
                    }
                case .failure(let error): Issue.record("\(name) at \(request): \(error)")
                }
                if expected == .anything { #expect(process.isFine(), "after \(name) at \(request)") }
            }
            #expect(process.isFine(), "after \(request)")
        }
        #expect(count >= 300)
        await process.end(before)
    }

    /// It would take the processor, or the thread that waits, endlessly.
    @Test(arguments: [
        [Script.Action.sleep], [.work], [.stop], [.packet(full(1)), .sleep], [.closeChannel],
        [.again([.receive])],
    ])
    func whatNeverComesEndsAtTheDeadline(actions: [Script.Action]) async throws {
        let before = Footprint()
        let process = HostileProcess(time: .milliseconds(200))
        for request in ["info", "decode", "frame", "finish"] {
            let start = ContinuousClock.now
            guard case .failure(let error as WebImageError) = process.outcome(Script(at: request, actions)) else {
                Issue.record("no error at \(request)")
                continue
            }
            guard case .isolation(.png, _, _) = error else {
                Issue.record("\(error) at \(request)")
                continue
            }
            #expect(ContinuousClock.now - start < .seconds(20))
        }
        await process.end(before)
    }

    @Test(arguments: [
        [Script.Action.sleep], [.work], [.stop], [.packet(full(1)), .sleep], [.receive, .packet(Data([2]))],
        [.receive, .reply, .reply], [.receive, .replyOf(Data())], [.again([.receive])],
    ])
    func cancellingEndsEachWait(actions: [Script.Action]) async throws {
        let before = Footprint()
        let process = HostileProcess(time: .seconds(60))
        for request in ["decode", "append", "frame", "encode", "encodeAnimation"] {
            let cancellation = Cancellation()
            let result = LockBox<Result<String, any Error>?>(nil)
            _ = PlatformThread.start(name: "hostile") {
                let outcome = process.outcome(Script(at: request, actions), cancellation: cancellation)
                result.withLock { $0 = outcome }
            }
            while !Task.isCancelled, process.isolation.pool.busyCount == 0, result.withLock({ $0 == nil }) {
                await Task.yield()
            }
            cancellation.cancel()
            while result.withLock({ $0 == nil }), !Task.isCancelled { await Task.yield() }
            guard case .failure(let error as WebImageError) = result.withLock({ $0 }), error == .cancelled else {
                Issue.record("\(String(describing: result.withLock { $0 })) at \(request)")
                continue
            }
            #expect(process.isFine())
        }
        await process.end(before)
    }

    /// Spools are counted, also where each is as short as possible.
    @Test func filesThatAProcessRequestsAreBounded() throws {
        let process = HostileProcess(time: .seconds(20))
        let spool = try Self.done(.needsSpool(byteCount: 1))
        let allowed = Script(
            at: "decode",
            Array(repeating: [.replyOf(spool), .receive], count: Spools.countLimit).flatMap(\.self) + [.reply])
        #expect(throws: Never.self) { try process.perform(allowed) }
        let more = Script(
            at: "decode",
            Array(repeating: [.replyOf(spool), .receive], count: Spools.countLimit + 1).flatMap(\.self) + [.reply])
        #expect(throws: WebImageError.self) { try process.perform(more) }
    }
}
