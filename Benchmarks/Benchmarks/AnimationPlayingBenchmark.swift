import CWebImageBenchmarkPeers
import Foundation
import WebImageAnimation
import WebImageCoding
import WebImageCore

extension BenchmarkGroup {
    /// Players: 20 views of an animation of 60 frames, 480×270 pixels, at 30 frames a second by the system's clock;
    /// what a seek costs; all frames beside gdk-pixbuf.
    static let playingAnimation = BenchmarkGroup(name: "playing-animation") { table in
        let sample = try AnimationSample(isWhole: false)
        let noise = try AnimationSample(isWhole: true)
        let figures = FigureTable(columns: [
            "20 players, 30 fps", "CPU %", "shown", "dropped", "frames MiB", "process MiB",
        ])
        let quarter = sample.frameByteCount * 15
        for (name, sample) in [("small changes", sample), ("noise", noise)] {
            figures.section(name)
            try playTwenty(of: sample, sharing: true, byteLimit: .max, seconds: 4).print("one pool", in: figures)
            try playTwenty(of: sample, sharing: true, byteLimit: quarter, seconds: 4)
                .print("one pool of 15 frames", in: figures)
            try playTwenty(of: sample, sharing: false, byteLimit: .max, seconds: 4)
                .print("a pool per view", in: figures)
            try playTwenty(of: sample, sharing: false, byteLimit: quarter, seconds: 4)
                .print("15 frames per view", in: figures)
        }
        try measureSeeks(in: sample, in: table)
        for (name, sample) in [("small changes", sample), ("noise", noise)] {
            try compareWithPixbuf(sample, "GIF, a frame, \(name), against gdk-pixbuf", in: table)
        }
    }

    // MARK: Twenty players

    private struct Played {
        var processorShare = 0.0
        var shown = 0
        var dropped = 0
        var frameByteCount = 0
        var processByteCount = 0

        func print(_ name: String, in table: FigureTable) {
            func mebibytes(_ count: Int) -> String { "\(count >> 20)" }
            table.row([
                name, "\((processorShare * 1000).rounded() / 10)", "\(shown)", "\(dropped)",
                mebibytes(frameByteCount), mebibytes(processByteCount),
            ])
        }
    }

    /// - Parameter sharing: whether all players have one image, hence one pool; if not, each decodes for itself, as
    ///   in libraries where each view has its own frames.
    private static func playTwenty(
        of sample: AnimationSample, sharing: Bool, byteLimit: Int, seconds: Double
    ) throws -> Played {
        PixelBufferPool.shared.removeAll()
        AnimationPlayer.animationByteLimit = byteLimit
        defer { AnimationPlayer.animationByteLimit = .max }
        let shared = try sample.image
        guard let frame = shared.animation?.frames.first else { throw WrongResult(description: "no animation") }
        let shown = LockBox(0)
        let memoryBefore = residentByteCount()
        let players = try (0..<20).map { _ in
            let player = AnimationPlayer(
                sharing ? shared : try sample.image,
                configuration: .init(rate: frame.duration / .seconds(1) * 30, loopCount: 0))
            player.onEvent = { if case .frame = $0 { shown.withLock { $0 += 1 } } }
            return player
        }
        let start = (processorSeconds(), ContinuousClock.now)
        for player in players { player.play() }
        var played = Played()
        while start.1.duration(to: .now) < .seconds(seconds) {
            usleep(50_000)
            let frameCount = (sharing ? players.prefix(1) : players[...]).reduce(0) { $0 + $1.cachedFrameCount }
            played.frameByteCount = max(played.frameByteCount, frameCount * sample.frameByteCount)
            played.processByteCount = max(played.processByteCount, residentByteCount() - memoryBefore)
        }
        played.processorShare = (processorSeconds() - start.0) / (start.1.duration(to: .now) / .seconds(1))
        for player in players { player.pause() }
        played.shown = shown.withLock { $0 }
        played.dropped = players.reduce(0) { $0 + $1.droppedFrameCount }
        return played
    }

    private static func processorSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static func residentByteCount() -> Int {
        let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    // MARK: One player

    /// Seeking to every seventh frame, back and forth, beside a reader that begins anew.
    private static func measureSeeks(in sample: AnimationSample, in table: BenchmarkTable) throws {
        let frames = (0..<AnimationSample.frameCount).map { $0 * 7 % AnimationSample.frameCount }
        guard let source = try sample.image.animation else { throw WrongResult(description: "no animation") }
        let fromStart = {
            for frame in frames { _ = try source.makeFrameReader().frame(at: frame, cancellation: nil) }
        }
        for (name, byteLimit) in [("all frames kept", Int.max), ("15 frames kept", sample.frameByteCount * 15)] {
            AnimationPlayer.animationByteLimit = byteLimit
            defer { AnimationPlayer.animationByteLimit = .max }
            let shown = DispatchSemaphore(value: 0)
            let player = AnimationPlayer(try sample.image)
            player.onEvent = { if case .frame = $0 { shown.signal() } }
            try table.compare(
                "a seek, \(name), against a replay", operationCount: frames.count,
                ours: {
                    for frame in frames {
                        player.seek(toFrame: frame)
                        shown.wait()
                    }
                }, yardstick: fromStart)
        }
    }

    // MARK: gdk-pixbuf

    /// Its iterator composes each frame when it gets there; Python's part is a call a frame.
    private static func compareWithPixbuf(
        _ sample: AnimationSample, _ name: String, in table: BenchmarkTable
    ) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "webimage-\(UUID().uuidString).gif")
        try sample.data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = """
            import sys, time, gi
            gi.require_version("GdkPixbuf", "2.0")
            from gi.repository import GdkPixbuf, GLib
            times = []
            for _ in range(5):
                start = time.perf_counter()
                animation = GdkPixbuf.PixbufAnimation.new_from_file(sys.argv[1])
                now = GLib.TimeVal()
                now.tv_sec, now.tv_usec = 1, 0
                iterator = animation.get_iter(now)
                for _ in range(int(sys.argv[2])):
                    iterator.get_pixbuf()
                    microseconds = now.tv_usec + iterator.get_delay_time() * 1000
                    now.tv_sec += microseconds // 1000000
                    now.tv_usec = microseconds % 1000000
                    iterator.advance(now)
                times.append(time.perf_counter() - start)
            print(sorted(times)[2])
            """
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-W", "ignore", "-c", script, file.path, "\(AnimationSample.frameCount)"]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard let seconds = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw WrongResult(description: "gdk-pixbuf measured nothing")
        }
        try table.compare(
            name, yardstick: .seconds(seconds) / AnimationSample.frameCount,
            operationCount: AnimationSample.frameCount,
            ours: {
                guard let source = try CodecRegistry.shared.animation(of: sample.data) else {
                    throw WrongResult(description: "no animation")
                }
                let reader = source.makeFrameReader()
                for index in source.frames.indices { _ = try reader.frame(at: index, cancellation: nil) }
            })
    }
}

/// A GIF of 60 frames, 480×270 pixels, made by giflib.
private struct AnimationSample {
    static let frameCount = 60
    static let size = PixelSize(width: 480, height: 270)
    let data: Data
    let frameByteCount = size.pixelCount * 4

    /// - Parameter isWhole: whether frames are full of noise, or small changes of one.
    init(isWhole: Bool) throws {
        var length = 0
        let size = Self.size
        guard
            let bytes = peer_make_gif(
                Int32(size.width), Int32(size.height), Int32(Self.frameCount), isWhole, &length)
        else { throw WrongResult(description: "giflib made no GIF") }
        data = Data(bytesNoCopy: bytes, count: length, deallocator: .free)
    }

    /// An image of its own each time.
    var image: Image { get throws { try CodecRegistry.shared.decode(data) } }
}
