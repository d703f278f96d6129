import FoundationEssentials
import Glibc
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageIsolation

/// What a decoder process that was taken over can do to the program: end its own image.
@Suite(.serialized, .timeLimit(.minutes(5))) struct MisbehaviorTests {
    private let isolation: IsolatedDecoding
    private let registry: CodecRegistry

    init() throws {
        isolation = IsolatedDecoding(configuration: .init(decoder: "MisbehavingDecoder") { $0.processCount = 1 })
        registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
    }

    /// Decodes a file that makes the process do what `word` says.
    private func failure(_ word: String, seconds: Double? = nil) -> WebImageError? {
        var options = DecodingOptions()
        options.limits.seconds = seconds
        do throws(WebImageError) {
            _ = try registry.decode(Self.file(word), options: options)
            return nil
        } catch {
            return error
        }
    }

    static func file(_ word: String) -> Data { Data([0x89] + Array("PNG\r\n\u{1A}\n\(word)".utf8)) }

    private func isFine() throws -> Bool {
        let image = try registry.decode(Self.file("fine"))
        return image.pixels[7, 7] == SIMD4(repeating: 17)
    }

    @Test(arguments: [
        ("segfault", SIGSEGV), ("abort", SIGABRT), ("trap", SIGTRAP), ("overflow", SIGSEGV), ("memory", SIGABRT),
    ])
    func aCrashIsAnErrorOfThatImage(word: String, signal: Int32) throws {
        let error = failure(word)
        // A failed check of Swift is an illegal instruction or a trap, by processor.
        guard case .isolation(.png, .crashed(let found), _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found == signal || (signal == SIGTRAP && found == SIGILL))
        #expect(try isFine())
        #expect(isolation.blockingStatus.counters.failures[.png] == 1)
    }

    @Test func aProcessThatWorkedOnOtherImagesIsGivenOneMoreTry() throws {
        #expect(try isFine())
        #expect(failure("segfault") != nil)
        // The first, and the one that got the second try.
        #expect(isolation.blockingStatus.counters.startedProcessCount == 2)
        #expect(isolation.blockingStatus.counters.failures[.png] == 2)
        #expect(try isFine())
    }

    @Test(arguments: ["fork", "socket", "open", "write", "exec", "kill", "executable"])
    func theKernelRefusesWhatDecodersDoNotNeed(word: String) throws {
        guard case .decoding(.png, .corrupt(let text), _)? = failure(word) else {
            Issue.record("no answer")
            return
        }
        #expect(text.hasSuffix("refused"))
        #expect(access("/tmp/webimage-escaped", F_OK) != 0)
    }

    @Test func anExitIsAnErrorOfThatImage() throws {
        #expect(failure("exit") == .isolation(format: .png, reason: .ended))
        #expect(try isFine())
    }

    @Test(arguments: ["garbage", "empty", "number", "other", "huge", "outside", "stride", "flag", "spool", "spools"])
    func aLieIsAnErrorOfThatImage(word: String) throws {
        let error = failure(word)
        switch error {
        case .isolation(.png, .invalidReply, _)?: break
        case .limitExceeded(.pixels, _)? where word == "huge": break
        default: Issue.record("\(word): \(String(describing: error))")
        }
        #expect(try isFine())
    }

    @Test(arguments: ["flood", "twice"])
    func moreRepliesThanRequestsAreNotTakenForOthers(word: String) throws {
        #expect(failure(word) == nil)
        #expect(try isFine())
        #expect(try isFine())
    }

    @Test(arguments: ["loop", "sleep"])
    func aHangEndsAtTheTimeLimit(word: String) throws {
        let start = ContinuousClock.now
        #expect(failure(word, seconds: 0.3) == .limitExceeded(reason: .processorTime(seconds: 0.3)))
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(try isFine())
    }

    @Test func cancellingEndsAHang() async throws {
        let cancellation = Cancellation()
        let registry = registry
        let decoding = Task.detached {
            Result { () throws(WebImageError) in
                _ = try registry.decode(Self.file("loop"), options: DecodingOptions(cancellation: cancellation))
            }
        }
        while isolation.pool.busyCount + isolation.pool.slowCount == 0, !Task.isCancelled { await Task.yield() }
        cancellation.cancel()
        guard case .failure(.cancelled) = await decoding.value else {
            Issue.record("not cancelled")
            return
        }
        #expect(try isFine())
    }

    @Test func processesShareTheProcessors() throws {
        let isolation = IsolatedDecoding(configuration: .init(decoder: "MisbehavingDecoder") { $0.processCount = 2 })
        let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
        func threadCount() throws -> Int {
            do throws(WebImageError) {
                _ = try registry.decode(Self.file("threads"))
            } catch {
                guard case .decoding(.png, .corrupt(let text), _) = error else { throw error }
                return try #require(Int(text.prefix { $0 != " " }))
            }
            return 0
        }
        // Other tests may decode at the same time.
        let alone = try threadCount()
        #expect((1...PlatformThread.processorCount).contains(alone))
        try isolation.pool.withProcess(cancellation: nil) { _ in
            let beside = try threadCount()
            #expect((1...max(1, PlatformThread.processorCount / 2)).contains(beside))
        }
    }

    @Test func pixelsThatTheProcessCanStillWriteAreCopied() throws {
        let image = try registry.decode(Self.file("rewrite"))
        let copy = try image.pixels.copied().freeze(isOpaque: true)
        #expect(try isFine())
        #expect(image.pixels.isEqual(to: copy))
    }

    @Test func memoryCannotBeTakenAwayFromTheProgram() throws {
        let image = try registry.decode(Self.file("shrink"))
        #expect(image.pixels[1023, 1023] == SIMD4(repeating: 17))
    }

    @Test func noProcessAndNoDescriptorRemains() throws {
        let descriptors = Self.descriptorCount
        for word in ["segfault", "exit", "garbage", "fine", "rewrite"] { _ = failure(word) }
        isolation.endIdleProcesses()
        #expect(Self.descriptorCount == descriptors)
        #expect(waitpid(-1, nil, WNOHANG) <= 0)
    }

    private static var descriptorCount: Int {
        (0..<1024).count { fcntl($0, F_GETFD) >= 0 }
    }
}

extension IsolatedDecoding.Configuration {
    /// A configuration with a program that is built beside the tests.
    init(decoder name: String, _ change: (inout Self) -> Void = { _ in }) {
        self.init()
        path = DecoderLocation.programPath.flatMap { program in
            program.lastIndex(of: "/").map { program[...$0] + name }
        }
        change(&self)
    }
}
