import Dispatch
import FoundationEssentials
import Glibc
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageIsolation

/// Small files that ask for far too much end as one error, or as an image, within the limits of a server.
///
/// `WEBIMAGE_BOMB_FIGURES=1` prints a line for each.
@Suite(.serialized, .timeLimit(.minutes(10))) struct BombTests {
    private static let isolation = IsolatedDecoding(
        configuration: .init(decoder: "webimage-decoder") { $0.processCount = 1 })
    private static let registry = IsolatedDecodingTests.local.isolated(by: .allFormats, in: isolation)

    /// Files of others that were found with these libraries, where they are.
    static let foundFiles: [Bomb] = {
        let folder = URL(filePath: #filePath).appending(path: "../../../../shared/reproductions").standardized
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { !["md", "py", "json"].contains($0.split(separator: ".").last) }.sorted().map { name in
            Bomb(name) { try Data(contentsOf: folder.appending(path: name)) }
        }
    }()

    @Test(arguments: Bomb.all + foundFiles)
    func aBombEndsWithinItsLimits(bomb: Bomb) throws {
        let data = try bomb.make()
        var options = DecodingOptions(limits: .server)
        options.limits.seconds = 2
        // The memory that is always there.
        _ = try? Self.registry.decode(Bomb.png(8, 8, type: 6, rows: Bomb.zeros(264)))
        PixelBufferPool.shared.removeAll()
        let before = ProcessMemory().allocatedByteCount
        let peak = PeakMemory()
        let start = ContinuousClock.now
        let outcome: String
        do throws(WebImageError) {
            let image = try Self.registry.decode(data, options: options)
            outcome = "an image of \(image.pixels.size)"
            #expect(image.pixels.byteCount <= options.limits.memoryByteCount)
        } catch {
            outcome = "\(error)"
            switch error {
            case .isolation(_, .unavailable, _), .isolation(_, .missingLayers, _), .isolation(_, .invalidReply, _):
                Issue.record("\(error)")
            default: break
            }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let decoderByteCount = peak.stop()
        PixelBufferPool.shared.removeAll()
        // A process without work gives the memory back that both share, before it serves the next request.
        Self.isolation.pool.restIdleProcesses()
        _ = try? Self.registry.decode(Bomb.png(8, 8, type: 6, rows: Bomb.zeros(264)))
        PixelBufferPool.shared.removeAll()
        let growth = max(0, ProcessMemory().allocatedByteCount - before)
        if getenv("WEBIMAGE_BOMB_FIGURES") != nil {
            let milliseconds = Int(seconds * 1000)
            print(
                "| \(bomb.name) | \(data.count) | \(outcome.prefix(110)) | \(milliseconds) | \(decoderByteCount >> 20) | \(growth >> 20) |"
            )
        }
        // The time limit is checked with a margin, and a busy machine is slow.
        #expect(seconds < 60)
        #expect(decoderByteCount <= Self.decoderByteLimit, "\(decoderByteCount >> 20) MiB: \(outcome)")
        #expect(growth <= Self.hostByteLimit, "\(growth >> 20) MiB: \(outcome)")
        // And the next image is as good as ever.
        let image = try Self.registry.decode(Bomb.png(8, 8, type: 6, rows: Bomb.zeros(264)))
        #expect(image.pixels.size == PixelSize(width: 8, height: 8))
    }

    @Test(arguments: [
        Bomb("a side of 70,000") { Bomb.png(70_000, 3, type: 6, rows: Bomb.zeros(264)) },
        Bomb("sides of 31 bits") { Bomb.png(0x7FFF_FFFF, 0x7FFF_FFFF, type: 6, rows: Bomb.zeros(264)) },
        Bomb("sides of 32 bits") { Bomb.png(0xFFFF_FFFF, 0x8000_0001, type: 6, rows: Bomb.zeros(264)) },
        Bomb("a depth of 236") { Bomb.png(8, 8, depth: 236, type: 6, rows: Bomb.zeros(264)) },
    ])
    func headersThatNoImageCanHaveAreRead(bomb: Bomb) throws {
        let data = try bomb.make()
        func info(_ registry: CodecRegistry) -> Result<ImageInfo, WebImageError> {
            Result { () throws(WebImageError) in try registry.info(of: data) }
        }
        #expect(info(Self.registry) == info(IsolatedDecodingTests.local))
        func probe(_ registry: CodecRegistry) -> Result<ImageProbe?, WebImageError> {
            Result { () throws(WebImageError) in try registry.probe(data) }
        }
        #expect(probe(Self.registry) == probe(IsolatedDecodingTests.local))
    }

    /// The files themselves, and what malloc keeps.
    private static let hostByteLimit = 16 << 20
    /// The limit of a decode, and what a process has before it.
    private static let decoderByteLimit = DecodingLimits.server.memoryByteCount + (64 << 20)
}

/// Watches how much memory the processes have that this one has started.
private final class PeakMemory: Sendable {
    private let peak = LockBox(0)
    private let (stopped, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

    init() {
        _ = PlatformThread.start(name: "watching") { [self] in
            repeat { look() } while stopped.wait(timeout: .now() + .milliseconds(2)) == .timedOut
            ended.signal()
        }
    }

    private func look() {
        let processes = ChildProcesses.ofThisProcess.flatMap { ChildProcesses.of($0) + [$0] }
        let most = processes.map { ProcessMemory(of: $0).residentByteCount }.max() ?? 0
        peak.withLock { $0 = max($0, most) }
    }

    /// Returns the maximum memory that one process had, in bytes.
    func stop() -> Int {
        look()
        stopped.signal()
        ended.wait()
        return peak.withLock { $0 }
    }
}
