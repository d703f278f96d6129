import FoundationEssentials
import Glibc
import WebImage
import WebImageCore

#if WEBIMAGE_FORMATS
    import WebImageFormats
#endif

extension BenchmarkGroup {
    /// Decoding in other processes, beside the same in this one: images of three sizes, frames of animations, the start of a process,
    /// its memory, cancellation, and other loads while hostile files are decoded. QUICK=1 leaves out 12 megapixels but for
    /// JPEG, and uses fewer rounds.
    static let isolation = BenchmarkGroup(name: "isolation") { table in
        let benchmark = try IsolationBenchmark()
        try benchmark.compareStills()
        try benchmark.compareAnimations()
        try benchmark.measureStart(in: table)
        try benchmark.measureMemory()
        try benchmark.measureCancellation(in: table)
        #if WEBIMAGE_FORMATS
            try benchmark.measurePace()
        #endif
    }
}

struct IsolationBenchmark {
    let isQuick = getenv("QUICK") != nil
    let isolation = IsolatedDecoding()
    /// The yardstick: the codecs of decoder processes, in this process.
    let local: CodecRegistry
    let isolated: CodecRegistry
    private let photo: PixelBuffer

    init() throws {
        #if WEBIMAGE_FORMATS
            local = FormatLibraries.registry()
        #else
            local = CodecRegistry()
        #endif
        isolated = local.isolated(by: .allFormats, in: isolation)
        photo = try CodecRegistry.shared.decode(BenchmarkGroup.twelveMegapixelJPEG()).pixels
        if let problem = isolation.blockingStatus.problem { throw WrongResult(description: problem) }
    }

    /// Those that `.libraryFormats` isolates, then those that only `.allFormats` does.
    var formats: [ImageFormat] {
        let ofLibraries: [ImageFormat] = [.avif, .heic, .jpegXL, .tiff, .jpeg2000]
        return ofLibraries.filter(local.writableFormats.contains) + [.jpeg, .png]
    }

    // MARK: Images

    func compareStills() throws {
        let figures = FigureTable(columns: [
            "decoded in another process", "isolated, ms", "in process, ms", "ratio", "difference, ms", "glycin, ms",
        ])
        #if WEBIMAGE_FORMATS
            let glycin = GlycinPeer()
        #endif
        for (title, byteCount, roundCount) in [("1 KB", 1 << 10, 101), ("100 KB", 100 << 10, 41), ("12 MP", 0, 9)] {
            figures.section(title)
            for format in formats {
                if byteCount == 0, isQuick, format != .jpeg { continue }
                let data = try sample(of: format, byteCount: byteCount)
                let (pixels, expected) = (try isolated.decode(data).pixels, try local.decode(data).pixels)
                guard pixels.isEqual(to: expected) else {
                    throw WrongResult(description: "\(format.name), \(title): other pixels")
                }
                let times = try Self.medians(
                    isQuick ? roundCount / 4 + 1 : roundCount, { _ = try isolated.decode(data) },
                    { _ = try local.decode(data) })
                var peer = "-"
                #if WEBIMAGE_FORMATS
                    peer = try glycin?.median(of: data, size: pixels.size, isQuick ? 3 : 7).map(Self.text) ?? "-"
                #endif
                figures.row(["\(format.name), \(pixels.size)"] + Self.cells(times) + [peer])
            }
        }
        #if WEBIMAGE_FORMATS
            print(glycin.map { "glycin: \($0.description)" } ?? "glycin: no libglycin here; Debian 13 has it")
        #endif
    }

    /// The photograph in a file of about this size; whole for 0.
    func sample(of format: ImageFormat, byteCount: Int) throws -> Data {
        var options = EncodingOptions(quality: 0.6)
        options.speed = 9
        guard byteCount > 0 else { return try local.encode(Image(pixels: photo), as: format, options: options) }
        var (width, best) = (64.0, Data())
        for _ in 0..<5 {
            let size = PixelSize(width: max(8, Int(width)), height: max(6, Int(width * 0.75)))
            let data = try local.encode(Image(pixels: photo.resampled(to: size)), as: format, options: options)
            if best.isEmpty || abs(data.count - byteCount) < abs(best.count - byteCount) { best = data }
            width *= (Double(byteCount) / Double(data.count)).squareRoot()
        }
        return best
    }

    // MARK: Animations

    func compareAnimations() throws {
        let figures = FigureTable(columns: [
            "a frame of an animation", "isolated, ms", "in process, ms", "ratio", "difference, ms",
        ])
        let size = PixelSize(width: 480, height: 270)
        let frameCount = isQuick ? 12 : 40
        var animation = EncodableAnimation(loopCount: 0)
        for index in 0..<frameCount {
            let larger = try photo.resampled(
                to: PixelSize(width: size.width + index * 4, height: size.height + index * 4))
            let area = PixelRect(x: index * 2, y: index, width: size.width, height: size.height)
            guard let frame = try larger.cropped(to: area) else { throw WrongResult(description: "no frame") }
            animation.append(Image(pixels: frame), duration: .milliseconds(50))
        }
        for format in [ImageFormat.avif, .jpegXL, .gif, .webp] where local.canEncodeAnimation(as: format) {
            var options = EncodingOptions(quality: 0.6)
            options.speed = 9
            let data = try local.encode(animation, as: format, options: options)
            func frames(_ registry: CodecRegistry) throws -> (any AnimationFrameReader) {
                guard let source = try registry.animation(of: data) else {
                    throw WrongResult(description: "no animation")
                }
                return source.makeFrameReader()
            }
            let (reader, expected) = (try frames(isolated), try frames(local))
            for index in 0..<frameCount {
                let frame = try reader.frame(at: index, cancellation: nil)
                guard frame.isEqual(to: try expected.frame(at: index, cancellation: nil)) else {
                    throw WrongResult(description: "\(format.name): frame \(index) has other pixels")
                }
            }
            // Both readers go through all frames again and again.
            let times = try Self.medians(isQuick ? 3 : 7) {
                for index in 0..<frameCount { _ = try reader.frame(at: index, cancellation: nil) }
            } _: {
                for index in 0..<frameCount { _ = try expected.frame(at: index, cancellation: nil) }
            }
            figures.row(
                ["\(format.name), \(size)"]
                    + Self.cells((times.0 / frameCount, times.1 / frameCount)))
        }
    }

    // MARK: Start

    /// The first image of a program that has no process yet.
    func measureStart(in table: BenchmarkTable) throws {
        for format in formats {
            let data = try sample(of: format, byteCount: 1 << 10)
            try table.compare(
                "the first image, \(format.name)", budget: .milliseconds(30), roundCount: isQuick ? 5 : 15
            ) {
                let isolation = IsolatedDecoding()
                _ = try local.isolated(by: .allFormats, in: isolation).decode(data)
            }
        }
    }

    // MARK: Cancellation

    /// From the call that cancels to the end of decoding, in the middle of a large image.
    func measureCancellation(in table: BenchmarkTable) throws {
        for format in [ImageFormat.jpeg, .avif, .jpeg2000] where formats.contains(format) {
            if isQuick, format != .jpeg { continue }
            let data = try sample(of: format, byteCount: 0)
            let times = try (0..<(isQuick ? 5 : 21)).map { _ in try cancellationTime(data) }
            let median = times.sorted()[times.count / 2]
            table.compareMeasured(
                "cancelling \(format.name), 12 MP (budget), worst \(Self.text(times.max() ?? median)) ms", roundCount: 1
            ) {
                median
            } yardstick: {
                .milliseconds(10)
            }
        }
    }

    private func cancellationTime(_ data: Data) throws -> Duration {
        let cancellation = Cancellation()
        let (isStarted, isFinished) = (LockBox(false), LockBox<ContinuousClock.Instant?>(nil))
        let registry = isolated
        guard
            PlatformThread.start(
                name: "cancelled",
                {
                    isStarted.withLock { $0 = true }
                    _ = try? registry.decode(data, options: DecodingOptions(cancellation: cancellation))
                    isFinished.withLock { $0 = .now }
                })
        else { throw WrongResult(description: "no thread") }
        while !isStarted.withLock({ $0 }) { usleep(100) }
        // Decoding takes longer.
        usleep(10_000)
        let start = ContinuousClock.now
        cancellation.cancel()
        while true {
            if let end = isFinished.withLock({ $0 }) { return max(.zero, end - start) }
            usleep(100)
        }
    }

    // MARK: Figures

    /// Runs the two in turns, and returns the median time of each.
    static func medians(
        _ roundCount: Int, _ first: () throws -> Void, _ second: () throws -> Void
    ) rethrows -> (Duration, Duration) {
        let clock = ContinuousClock()
        try first()
        try second()
        var times: (first: [Duration], second: [Duration]) = ([], [])
        for _ in 0..<roundCount {
            times.first.append(try clock.measure(first))
            times.second.append(try clock.measure(second))
        }
        return (times.first.sorted()[roundCount / 2], times.second.sorted()[roundCount / 2])
    }

    /// Both times, their ratio and their difference.
    static func cells(_ times: (Duration, Duration)) -> [String] {
        let ratio = (times.0 / times.1 * 1000).rounded() / 1000
        return [text(times.0), text(times.1), "\(ratio)", text(times.0 - times.1)]
    }

    /// In milliseconds.
    static func text(_ time: Duration) -> String { "\((time / .milliseconds(1) * 1000).rounded() / 1000)" }
}

extension PixelBuffer {
    func isEqual(to other: PixelBuffer) -> Bool {
        size == other.size
            && (0..<height).allSatisfy { y in memcmp(row(y), other.row(y), width * 4) == 0 }
    }
}
