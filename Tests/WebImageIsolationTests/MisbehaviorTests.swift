import FoundationEssentials
import Glibc
import MisbehavingDecoder
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
        options.limits.processorTime = seconds.map { .seconds($0) }
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

    @Test func timeIsNotGivenTwice() throws {
        #expect(try isFine())
        #expect(failure("sleep", seconds: 0.1) != nil)
        #expect(isolation.blockingStatus.counters.failures[.png] == 1)
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

    @Test func aDecoderOfAnotherVersionIsRefused() throws {
        try IsolatedDecoding.withMisbehavingDecoder(named: "OtherDecoder") { isolation in
            let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
            let error = #expect(throws: WebImageError.self) { try registry.decode(Self.file("fine")) }
            guard case .isolation(.png, .unavailable(let reason), _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason.contains("has version 0.0.1, the program \(LibraryVersion.text)"))
        }
    }

    @Test func anExitIsAnErrorOfThatImage() throws {
        #expect(failure("exit") == .isolation(format: .png, reason: .ended))
        #expect(try isFine())
    }

    @Test(arguments: [
        "garbage", "empty", "number", "other", "huge", "outside", "stride", "flag", "spool", "spools", "rowsOutside",
        "rowsOfHuge", "rowsBack", "rowsElsewhere",
    ])
    func aLieIsAnErrorOfThatImage(word: String) throws {
        let error = failure(word, seconds: word == "flag" ? 0.1 : nil)
        switch error {
        case .isolation(.png, .invalidReply, _)?: break
        case .limitExceeded(.pixels, _)? where word == "huge" || word == "rowsOfHuge": break
        // Half of a message, until the deadline.
        case .limitExceeded(.processorTime, _)? where word == "flag": break
        default: Issue.record("\(word): \(String(describing: error))")
        }
        #expect(try isFine())
    }

    @Test func rowsThatChangeAfterAllAreCopiedAgain() throws {
        let pixels = try registry.decode(Self.file("rowsWithdrawn")).pixels
        #expect(pixels.withUnsafeBytes { bytes in bytes.allSatisfy { $0 == 99 } })
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
        #expect(failure(word, seconds: 0.3) == .limitExceeded(reason: .processorTime(limit: .milliseconds(300))))
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
        try isolation.pool.withProcess(within: .minute) { _ in
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

    /// A program that cannot make any layer of a sandbox.
    @Test(arguments: SandboxLayer.allCases) func aLayerThatIsMissingAndRequiredIsAnError(layer: SandboxLayer) throws {
        try IsolatedDecoding.withoutSandbox { open in
            let codecs = CodecRegistry().isolated(by: .allFormats.requiring([layer]), in: open)
            #expect(throws: WebImageError.isolation(format: .png, reason: .missingLayers([layer.rawValue]))) {
                try codecs.decode(Self.file("fine"))
            }
            // Without the demand, and with it where the layer holds.
            #expect(throws: Never.self) {
                try CodecRegistry().isolated(by: .allFormats, in: open).decode(Self.file("fine"))
            }
        }
        #expect(throws: Never.self) {
            try CodecRegistry().isolated(by: .allFormats.requiring([layer]), in: isolation).decode(Self.file("fine"))
        }
    }

    @Test func anImageBeyondTheLimitsIsRefusedAndItsProcessReplaced() throws {
        var options = DecodingOptions()
        options.limits.pixelCount = 63
        #expect(try isFine())
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: PixelSize(width: 8, height: 8), limit: 63))) {
            try registry.decode(Self.file("fine"), options: options)
        }
        #expect(try isFine())
        #expect(isolation.pool.counters.startedProcessCount == 2)
    }

    @Test func infoOfAnotherFormatIsRefused() throws {
        let info = ImageInfo(format: .gif, size: PixelSize(width: 8, height: 8))
        let bytes = try MessageEncoder.bytes(of: DecoderReply.info(info))
        let process = HostileProcess()
        #expect(throws: WebImageError.isolation(format: .png, reason: .invalidReply("no info"))) {
            try process.perform(Script(at: "info", [.replyOf(Data(bytes))]))
        }
    }

    @Test func filesThatNobodyReadsAreClosed() throws {
        let animation = try #require(try registry.animation(of: Self.file("fine")))
        for _ in 0..<3 { _ = try animation.makeFrameReader().frame(at: 1, cancellation: nil) }
        #expect(failure("closes") == .decoding(format: .png, reason: .corrupt("3 closed")))
    }

    /// The first process can do nothing more, but the image is decoded.
    @Test func sealedMemoryCostsOneProcessAndNoImage() throws {
        let process = HostileProcess(time: .seconds(20))
        _ = try process.perform(Script(at: "decode", [.seal(isInput: true, 0x10), .reply]))
        for _ in 0..<3 { #expect(process.isFine()) }
        #expect(process.isolation.pool.counters.failures[.png] ?? 0 <= 1)
    }

    @Test func noProcessAndNoDescriptorRemains() async throws {
        let descriptors = Self.descriptorCount
        for word in ["segfault", "exit", "garbage", "fine", "rewrite"] { _ = failure(word) }
        isolation.endIdleProcesses()
        // Some end on another thread.
        while Self.descriptorCount > descriptors, !Task.isCancelled { await Task.yield() }
        #expect(Self.descriptorCount <= descriptors)
        #expect(waitpid(-1, nil, WNOHANG) <= 0)
    }

    private static var descriptorCount: Int {
        (0..<1024).count { fcntl($0, F_GETFD) >= 0 }
    }
}

extension WaitLimit {
    /// As a safety net.
    static var minute: WaitLimit { WaitLimit(deadline: Channel.Limit.now + 60) }
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

extension IsolatedDecoding {
    /// Calls `body` with processes that report no layer of a sandbox.
    static func withoutSandbox(_ body: (IsolatedDecoding) throws -> Void) throws {
        try withMisbehavingDecoder(named: "OpenDecoder", body)
    }

    /// Calls `body` with processes of `MisbehavingDecoder` under another name.
    static func withMisbehavingDecoder(named name: String, _ body: (IsolatedDecoding) throws -> Void) throws {
        var configuration = Configuration(decoder: "MisbehavingDecoder")
        let path = try #require(configuration.path)
        let link = path.replacing("MisbehavingDecoder", with: "\(UInt64.random(in: 0 ... .max))-\(name)")
        try #require(Glibc.link(path, link) == 0)
        defer { unlink(link) }
        configuration.path = link
        try body(IsolatedDecoding(configuration: configuration))
    }
}
