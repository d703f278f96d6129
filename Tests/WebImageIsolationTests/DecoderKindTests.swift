import CodingTestSupport
import Dispatch
import FoundationEssentials
import Glibc
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageIsolation

/// Processes with the library of a format, and those without.
@Suite(.serialized, .timeLimit(.minutes(3))) struct DecoderKindTests {
    private func makeIsolation(
        processCount: Int, _ change: (inout IsolatedDecoding.Configuration) -> Void = { _ in }
    ) -> IsolatedDecoding {
        IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = processCount
                configuration.slowPeriod = .seconds(1000)
                change(&configuration)
            })
    }

    private func decode(_ format: ImageFormat, in isolation: IsolatedDecoding, _ word: String = "fine") throws {
        let decoder = IsolatedDecoder(format, isolation: isolation, policy: .allFormats)
        _ = try decoder.decode(MisbehaviorTests.file(word), options: DecodingOptions())
    }

    private func idle(_ isolation: IsolatedDecoding) -> [DecoderProcess] { isolation.pool.state.withLock { $0.idle } }

    private func wait(until condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    @Test func eachLibraryHasAKind() {
        let libraries: [ImageFormat] = [.avif, .heic, .jpegXL, .tiff, .jpeg2000, .svg]
        #expect(libraries.map { DecoderKind(for: $0).library } == libraries)
        #expect(DecoderKind(for: .icns) == DecoderKind(for: .jpeg2000))
        let others = Set(ImageFormat.known).subtracting(libraries + [.icns])
        #expect(others.count == 8 && others.allSatisfy { DecoderKind(for: $0) == .core })
    }

    @Test func aProcessWorksOnFormatsOfItsKind() throws {
        let isolation = makeIsolation(processCount: 2)
        for format in [ImageFormat.png, .avif, .jpeg2000, .jpeg, .avif, .icns] { try decode(format, in: isolation) }
        let processes = idle(isolation)
        #expect(processes.map(\.kind) == [.core, DecoderKind(for: .avif), DecoderKind(for: .jpeg2000)])
        #expect(processes.map(\.imageCount) == [2, 2, 2])
        #expect(isolation.pool.counters.startedProcessCount == 3)
    }

    @Test func anIdleProcessStaysBesideOneOfAnotherKind() throws {
        let isolation = makeIsolation(processCount: 1)
        for format in [ImageFormat.png, .svg, .png, .svg] { try decode(format, in: isolation) }
        #expect(idle(isolation).map(\.kind) == [.core, DecoderKind(for: .svg)])
        #expect(isolation.pool.counters.startedProcessCount == 2)
    }

    @Test(arguments: [1, 2]) func theOldestIdleProcessesEndBeyondTwiceThePlaces(processCount: Int) throws {
        let isolation = makeIsolation(processCount: processCount)
        let formats: [ImageFormat] = [.png, .svg, .avif, .heic, .jpegXL, .tiff]
        for format in formats { try decode(format, in: isolation) }
        #expect(idle(isolation).map(\.kind) == formats.suffix(2 * processCount).map(DecoderKind.init))
        try decode(formats[formats.count - 2 * processCount], in: isolation)
        #expect(isolation.pool.counters.startedProcessCount == formats.count)
    }

    @Test func theProcessThatIsKeptReadyStaysBesideOtherKinds() async throws {
        let isolation = makeIsolation(processCount: 1) { $0.keepsProcessReady = true }
        isolation.prepare()
        await wait { isolation.pool.idleCount == 1 }
        for format in [ImageFormat.svg, .avif, .heic] { try decode(format, in: isolation) }
        #expect(idle(isolation).map(\.kind) == [.core, DecoderKind(for: .heic)])
        #expect(isolation.pool.counters.startedProcessCount == 4)
    }

    @Test(arguments: [1, 2, 3]) func allKindsShareThePlaces(processCount: Int) async {
        let isolation = makeIsolation(processCount: processCount)
        let pool = isolation.pool
        struct Seen {
            var processes: [DecoderProcess] = []
            var greatestCounts = (busy: 0, ofAKind: 0)
            var endCount = 0
        }
        let seen = LockBox(Seen())
        let count = 12
        for index in 0..<count {
            _ = PlatformThread.start(name: "working") {
                let kind = [.core, DecoderKind(for: .svg), DecoderKind(for: .avif)][index % 3]
                try? pool.withProcess(kind: kind, within: .minute) { process in
                    #expect(process.kind == kind)
                    let busyCount = pool.busyCount
                    seen.withLock { seen in
                        if !seen.processes.contains(where: { $0 === process }) { seen.processes.append(process) }
                        let livingCount = seen.processes.count { $0.kind == kind && !$0.hasEnded }
                        seen.greatestCounts.busy = max(seen.greatestCounts.busy, busyCount)
                        seen.greatestCounts.ofAKind = max(seen.greatestCounts.ofAKind, livingCount)
                    }
                }
                seen.withLock { $0.endCount += 1 }
            }
        }
        await wait { seen.withLock { $0.endCount } == count }
        #expect(seen.withLock { max($0.greatestCounts.busy, $0.greatestCounts.ofAKind) } <= processCount)
        #expect(pool.waitingCount == 0 && pool.busyCount == 0)
        #expect(pool.idleCount <= 2 * processCount)
    }

    @Test func theProcessThatIsKeptReadyHasNoLibrary() async throws {
        let isolation = makeIsolation(processCount: 2) { configuration in
            configuration.keepsProcessReady = true
            configuration.idlePeriod = .milliseconds(20)
        }
        isolation.prepare()
        await wait { idle(isolation).map(\.kind) == [.core] }
        try decode(.svg, in: isolation)
        // The one that was used last ends after a while.
        await wait { idle(isolation).map(\.kind) == [.core] }
        #expect(isolation.pool.counters.startedProcessCount == 2)
    }

    @Test func anIdleProcessWithALibraryDoesNotCountAsReady() async throws {
        let isolation = makeIsolation(processCount: 2) { $0.keepsProcessReady = true }
        isolation.prepare()
        await wait { idle(isolation).map(\.kind) == [.core] }
        try decode(.svg, in: isolation)
        let isWorking = LockBox(true)
        _ = PlatformThread.start(name: "working") {
            try? isolation.pool.withProcess(within: .minute) { _ in
                while isWorking.withLock({ $0 }) { sched_yield() }
            }
        }
        await wait { isolation.pool.busyCount == 1 && idle(isolation).contains { $0.kind == .core } }
        #expect(isolation.pool.counters.startedProcessCount == 3)
        isWorking.withLock { $0 = false }
        await wait { isolation.pool.busyCount == 0 }
    }

    @Test func aProcessThatWasCancelledIsReplacedByOneOfItsKind() async {
        let isolation = makeIsolation(processCount: 1) { $0.slowPeriod = .milliseconds(1) }
        let cancellation = Cancellation()
        _ = PlatformThread.start(name: "decoding") {
            let decoder = IsolatedDecoder(.svg, isolation: isolation, policy: .allFormats)
            _ = try? decoder.decode(
                MisbehaviorTests.file("sleep"), options: DecodingOptions(cancellation: cancellation))
        }
        await wait { isolation.pool.slowCount == 1 }
        cancellation.cancel()
        await wait { isolation.pool.idleCount == 1 }
        #expect(idle(isolation).map(\.kind) == [DecoderKind(for: .svg)])
    }

    #if WEBIMAGE_FORMATS
        /// The names by which a linker finds the libraries. Those that are installed belong to the headers.
        private static let libraries: [(format: ImageFormat, names: [String])] = [
            (.avif, ["libavif.so"]), (.heic, ["libheif.so"]), (.jpegXL, ["libjxl.so", "libjxl_threads.so"]),
            (.tiff, ["libtiff.so"]), (.jpeg2000, ["libopenjp2.so"]), (.svg, ["librsvg-2.so"]),
        ]

        /// With a generous bound for memory: a debug build is larger, and libraries differ.
        @Test(arguments: [.png, .icns] + libraries.map(\.format))
        func aProcessLoadsTheLibraryOfItsFormatOnly(format: ImageFormat) throws {
            let local = IsolatedDecodingTests.local
            guard local.decoder(of: format) != nil else { return }
            let isolation = IsolatedDecoding(
                configuration: .init(decoder: "webimage-decoder") { $0.processCount = 1 })
            let isolated = local.isolated(by: .allFormats, in: isolation)
            let image = try IsolatedDecodingTests.image(PixelSize(width: 64, height: 48))
            switch format {
            case .svg: _ = try isolated.decode(Bomb.svg(16, "<text y='9'>a</text>"))
            case .icns: break
            default: _ = try isolated.decode(local.encode(image, as: format))
            }
            let kind = DecoderKind(for: format)
            let (maps, residentByteCount) = try isolation.pool.withProcess(kind: kind, within: .minute) { process in
                let decoder = ChildProcesses.of(process.process.pid).first ?? process.process.pid
                return (
                    try SandboxProbe.contents("/proc/\(decoder)/maps"), ProcessMemory(of: decoder).residentByteCount
                )
            }
            #expect(isolation.pool.counters.startedProcessCount == 1)
            let files = Set(maps.split(whereSeparator: { $0 == " " || $0 == "\n" }).filter { $0.hasPrefix("/") })
            #expect(files.contains { $0.contains("/libc.so") })
            for library in Self.libraries {
                for name in library.names {
                    let file = files.first { $0.contains("/\(name).") }
                    let isBuilt = local.decoder(of: library.format) != nil
                    #expect((file != nil) == (isBuilt && kind == DecoderKind(for: library.format)), "\(name)")
                    guard let file, let end = file.lastIndex(of: "/") else { continue }
                    #expect(URL(filePath: file[..<end] + "/\(name)").resolvingSymlinksInPath().path == file)
                }
            }
            guard format != .svg else { return }
            for library in ["libcairo", "libgio", "libfontconfig"] { #expect(!maps.contains(library)) }
            #expect(residentByteCount < 40 << 20)
        }
    #endif
}
