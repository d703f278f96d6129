import CWebImageBenchmarkPeers
import Foundation
import WebImageCoding
import WebImageCore

extension BenchmarkGroup {
    /// All frames of animations, composed, beside giflib, libwebp and Pillow: 60 frames of 480×270 pixels. There is
    /// no C library for APNG in Debian.
    static let animation = BenchmarkGroup(name: "animation") { table in
        let directory = FileManager.default.temporaryDirectory.appending(path: "webimage-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (name, isWhole) in [("noise", true), ("small changes", false)] {
            let gif = try sampleGIF(isWhole: isWhole)
            try checkFramesWithGIFLib(gif)
            try compareWithGIFLib(gif, "GIF, a frame, \(name), against giflib", in: table)
            let file = directory.appending(path: "animation.gif")
            try gif.write(to: file)
            try compareWithPillow(file, "GIF, a frame, \(name)", in: table)
            for (format, fileExtension) in [("APNG", "png"), ("WebP", "webp")] {
                let other = directory.appending(path: "animation.\(fileExtension)")
                try PillowAnimation.convert(file, to: other)
                let title = "\(format), a frame, \(name)"
                if format == "WebP" {
                    try compareWithLibwebp(Data(contentsOf: other), title + ", against libwebp", in: table)
                }
                try compareWithPillow(other, title, in: table)
            }
        }
    }

    private static let frameCount = 60
    private static let size = PixelSize(width: 480, height: 270)

    private static func sampleGIF(isWhole: Bool) throws -> Data {
        var length = 0
        guard let bytes = peer_make_gif(Int32(size.width), Int32(size.height), Int32(frameCount), isWhole, &length)
        else { throw WrongResult(description: "giflib made no GIF") }
        return Data(bytesNoCopy: bytes, count: length, deallocator: .free)
    }

    private static func forEachFrame(of data: Data, _ body: (Int, PixelBuffer) throws -> Void) throws {
        guard let animation = try CodecRegistry.shared.decode(data).animation, animation.frames.count == frameCount
        else { throw WrongResult(description: "no animation") }
        let reader = animation.makeFrameReader()
        for index in animation.frames.indices { try body(index, reader.frame(at: index, cancellation: nil)) }
    }

    /// Frames are compared by their hashes.
    private static func checkFramesWithGIFLib(_ data: Data) throws {
        var hashes = [UInt64](repeating: 0, count: frameCount)
        try decodeWithGIFLib(data, hashes: &hashes)
        try forEachFrame(of: data) { index, pixels in
            let hash = pixels.withUnsafeBytes { bytes in
                bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
            }
            guard hash == hashes[index] else { throw WrongResult(description: "frame \(index) is not giflib's") }
        }
    }

    private static func decodeWithGIFLib(_ data: Data, hashes: UnsafeMutablePointer<UInt64>?) throws {
        var canvas = [UInt8](repeating: 0, count: size.pixelCount * 4)
        let isGood = data.withUnsafeBytes { bytes in
            peer_decode_gif(
                bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &canvas, canvas.count, hashes)
        }
        guard isGood else { throw WrongResult(description: "giflib cannot read it") }
    }

    private static func compareWithGIFLib(_ data: Data, _ name: String, in table: BenchmarkTable) throws {
        try table.compare(
            name, operationCount: frameCount,
            ours: { try forEachFrame(of: data) { _, _ in } },
            yardstick: { try decodeWithGIFLib(data, hashes: nil) })
    }

    private static func compareWithLibwebp(_ data: Data, _ name: String, in table: BenchmarkTable) throws {
        try table.compare(
            name, operationCount: frameCount,
            ours: { try forEachFrame(of: data) { _, _ in } },
            yardstick: {
                let count = data.withUnsafeBytes { bytes in
                    peer_decode_webp_frames(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
                }
                guard count == frameCount else { throw WrongResult(description: "libwebp finds \(count) frames") }
            })
    }

    /// All frames are opaque, so that Pillow's straight colors are ours.
    private static func compareWithPillow(_ file: URL, _ name: String, in table: BenchmarkTable) throws {
        let data = try Data(contentsOf: file)
        let (seconds, pixels) = try PillowAnimation.measure(file)
        let frameByteCount = size.pixelCount * 4
        try forEachFrame(of: data) { index, frame in
            let theirs = pixels.dropFirst(index * frameByteCount).prefix(frameByteCount)
            guard frame.withUnsafeBytes({ $0.elementsEqual(theirs) }) else {
                throw WrongResult(description: "\(name): frame \(index) is not Pillow's")
            }
        }
        try table.compare(
            name + ", against Pillow", yardstick: .seconds(seconds) / frameCount, operationCount: frameCount,
            ours: { try forEachFrame(of: data) { _, _ in } })
    }
}

/// Pillow measures itself, in a process of its own, so that Python's start does not count.
private enum PillowAnimation {
    static func convert(_ source: URL, to destination: URL) throws {
        _ = try run(
            """
            import sys
            from PIL import Image
            Image.open(sys.argv[1]).save(sys.argv[2], save_all=True, method=0)
            """, source.path, destination.path)
    }

    /// The median of five times that all frames take, and the pixels of all, one below the other.
    static func measure(_ file: URL) throws -> (seconds: Double, pixels: Data) {
        let pixels = file.appendingPathExtension("rgba")
        let text = try run(
            """
            import sys, time
            from PIL import Image
            times = []
            for turn in range(6):
                start = time.perf_counter()
                image = Image.open(sys.argv[1])
                frames = []
                for index in range(image.n_frames):
                    image.seek(index)
                    frame = image.convert("RGBA")
                    frame.load()
                    if turn == 0: frames.append(frame)
                times.append(time.perf_counter() - start)
                if turn == 0:
                    with open(sys.argv[2], "wb") as file:
                        for frame in frames: file.write(frame.tobytes())
            print(sorted(times[1:])[2])
            """, file.path, pixels.path)
        guard let seconds = Double(text) else { throw WrongResult(description: "Pillow measured nothing") }
        return try (seconds, Data(contentsOf: pixels))
    }

    private static func run(_ script: String, _ arguments: String...) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script] + arguments
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
