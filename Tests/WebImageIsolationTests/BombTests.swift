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
        options.limits.processorTime = .seconds(1)
        // The memory that is always there.
        _ = try? Self.registry.decode(Bomb.png(8, 8, type: 6, rows: Bomb.zeros(264)))
        PixelBufferPool.shared.removeAll()
        let before = ProcessMemory().allocatedByteCount
        let watch = ProcessPeaks()
        let start = ContinuousClock.now
        let outcome: String
        _ = try? Self.registry.info(of: data, limits: options.limits)
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
        let peaks = watch.stop()
        PixelBufferPool.shared.removeAll()
        // A process without work gives the memory back that both share, before it serves the next request.
        Self.isolation.pool.restIdleProcesses()
        _ = try? Self.registry.decode(Bomb.png(8, 8, type: 6, rows: Bomb.zeros(264)))
        PixelBufferPool.shared.removeAll()
        let growth = max(0, ProcessMemory().allocatedByteCount - before)
        if getenv("WEBIMAGE_BOMB_FIGURES") != nil {
            let milliseconds = Int(seconds * 1000)
            print(
                "| \(bomb.name) | \(data.count) | \(outcome.prefix(110)) | \(milliseconds) | \(Int(peaks.seconds * 1000)) | \(peaks.byteCount >> 20) | \(growth >> 20) |"
            )
        }
        // The time limit is checked with a margin, and a busy machine is slow.
        #expect(seconds < 60)
        // The kernel counts whole seconds from the next one on; the header is read, and then the image, each in this time.
        #expect(peaks.seconds < 2 * (1 + 3), "\(peaks.seconds) s: \(outcome)")
        #expect(peaks.byteCount <= Self.decoderByteLimit, "\(peaks.byteCount >> 20) MiB: \(outcome)")
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

    #if WEBIMAGE_FORMATS
        /// librsvg has read all of a file before it tells the size.
        @Test func readingTheHeaderOfABombEndsAtTheTimeLimit() throws {
            let data = try Bomb.svgRules.make()
            var limits = DecodingLimits.server
            limits.processorTime = .seconds(1)
            let expected = WebImageError.limitExceeded(reason: .processorTime(limit: .seconds(1)))
            #expect(throws: expected) { try Self.registry.info(of: data, limits: limits) }
            #expect(throws: expected) { try Self.registry.colorProfile(of: data, limits: limits) }
            #expect(throws: expected) { try Self.registry.decode(data, options: DecodingOptions(limits: limits)) }
        }
    #endif

    /// The files themselves, and what malloc keeps.
    private static let hostByteLimit = 16 << 20
    /// The limit of a decode, what a process has before it and shares with the program, and what the sandbox allows for the stacks of threads.
    private static let decoderByteLimit =
        DecodingLimits.server.memoryByteCount + (128 << 20) + PlatformThread.processorCount * (16 << 20)
}

/// Watches how much memory and processor time the processes take that this one has started.
private final class ProcessPeaks: Sendable {
    private let peaks = LockBox(Peaks())
    private let (stopped, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

    struct Peaks {
        /// The maximum memory that one process had.
        var byteCount = 0
        /// The maximum time that one process took.
        var seconds = 0.0
        /// What each had taken before.
        fileprivate var earlierSeconds: [Int32: Double] = [:]
    }

    init() {
        let earlier = Dictionary(Self.processes.map { ($0, Self.seconds(of: $0)) }) { $1 }
        peaks.withLock { $0.earlierSeconds = earlier }
        _ = PlatformThread.start(name: "watching") { [self] in
            repeat { look() } while stopped.wait(timeout: .now() + .milliseconds(2)) == .timedOut
            ended.signal()
        }
    }

    private static var processes: [Int32] { ChildProcesses.ofThisProcess.flatMap { ChildProcesses.of($0) + [$0] } }

    /// The processor time of a process, in seconds; 0 if it has ended.
    private static func seconds(of process: Int32) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        // Behind the name: the state is the third field, user and system time are the 14th and 15th, in ticks.
        let fields = text[end...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private func look() {
        for process in Self.processes {
            let (byteCount, seconds) = (ProcessMemory(of: process).residentByteCount, Self.seconds(of: process))
            peaks.withLock { peaks in
                peaks.byteCount = max(peaks.byteCount, byteCount)
                peaks.seconds = max(peaks.seconds, seconds - (peaks.earlierSeconds[process] ?? 0))
            }
        }
    }

    func stop() -> Peaks {
        look()
        stopped.signal()
        ended.wait()
        return peaks.withLock { $0 }
    }
}
