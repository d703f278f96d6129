import CodingTestSupport
import Dispatch
import FoundationEssentials
import Glibc
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageIsolation

/// Processes that draw SVG, and those for all other formats.
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

    @Test func aProcessWorksOnFormatsOfItsKind() throws {
        let isolation = makeIsolation(processCount: 2)
        for format in [ImageFormat.png, .svg, .svg, .avif, .svg, .icns] { try decode(format, in: isolation) }
        let processes = idle(isolation)
        #expect(processes.map(\.kind) == [.svg, .raster])
        #expect(processes.map(\.imageCount) == [3, 3])
        #expect(isolation.pool.counters.startedProcessCount == 2)
    }

    @Test func anIdleProcessStaysBesideOneOfTheOtherKind() throws {
        let isolation = makeIsolation(processCount: 1)
        for format in [ImageFormat.png, .svg, .png, .svg] { try decode(format, in: isolation) }
        #expect(idle(isolation).map(\.kind) == [.raster, .svg])
        #expect(isolation.pool.counters.startedProcessCount == 2)
    }

    @Test(arguments: [1, 2, 3]) func bothKindsShareThePlaces(processCount: Int) async {
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
                let kind: DecoderKind = index % 3 == 0 ? .svg : .raster
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
    }

    @Test func theProcessThatIsKeptReadyIsForRasterFormats() async throws {
        let isolation = makeIsolation(processCount: 2) { configuration in
            configuration.keepsProcessReady = true
            configuration.idlePeriod = .milliseconds(20)
        }
        isolation.prepare()
        await wait { idle(isolation).map(\.kind) == [.raster] }
        try decode(.svg, in: isolation)
        // The one that was used last ends after a while.
        await wait { idle(isolation).map(\.kind) == [.raster] }
        #expect(isolation.pool.counters.startedProcessCount == 2)
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
        #expect(idle(isolation).map(\.kind) == [.svg])
    }

    #if WEBIMAGE_FORMATS
        /// With a generous bound: a debug build is larger, and libraries differ.
        @Test func onlyAProcessForSVGLoadsLibrsvg() throws {
            let isolation = IsolatedDecoding(
                configuration: .init(decoder: "webimage-decoder") { $0.processCount = 2 })
            let local = IsolatedDecodingTests.local
            let isolated = local.isolated(by: .allFormats, in: isolation)
            for format in local.writableFormats {
                _ = try isolated.decode(
                    local.encode(IsolatedDecodingTests.image(PixelSize(width: 64, height: 48)), as: format))
            }
            func libraries(_ kind: DecoderKind) throws -> (named: String, residentByteCount: Int) {
                try isolation.pool.withProcess(kind: kind, within: .minute) { process in
                    let decoder = ChildProcesses.of(process.process.pid).first ?? process.process.pid
                    return (
                        try SandboxProbe.contents("/proc/\(decoder)/maps"),
                        ProcessMemory(of: decoder).residentByteCount
                    )
                }
            }
            let raster = try libraries(.raster)
            #expect(raster.named.contains("libc.so"))
            for library in ["librsvg", "libcairo", "libgio", "libfontconfig"] {
                #expect(!raster.named.contains(library))
            }
            #expect(raster.residentByteCount < 40 << 20)
            guard local.decoder(of: .svg) != nil else { return }
            _ = try isolated.decode(Bomb.svg(16, "<text y='9'>a</text>"))
            #expect(try libraries(.svg).named.contains("librsvg"))
        }
    #endif
}
