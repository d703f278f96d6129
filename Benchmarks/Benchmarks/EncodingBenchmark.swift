import CWebImageBenchmarkPeers
import Foundation
import WebImageCoding
import WebImageCore

extension BenchmarkGroup {
    /// Encoding, beside the C libraries alone and Pillow: a still of 2 megapixels and 30 frames of 480×270 pixels. How
    /// long our file is beside theirs stands behind each name.
    static let encoding = BenchmarkGroup(name: "encoding") { table in
        let photo = try CodecRegistry.shared.decode(twelveMegapixelJPEG()).pixels
        let still = Image(pixels: try photo.resampled(to: PixelSize(width: 1632, height: 1224)))
        try compareWithLibraries(still, in: table)
        for kind in PillowEncoding.stills { try kind.compare(still, in: table) }
        for (name, moves) in [("full motion", true), ("small changes", false)] {
            let animation = try clip(of: photo, movesWhole: moves)
            for kind in PillowEncoding.animations { try kind.compare(animation, named: name, in: table) }
        }
    }

    private static func compareWithLibraries(_ image: Image, in table: BenchmarkTable) throws {
        let (width, height) = (UInt32(image.width), UInt32(image.height))
        typealias Encoder = (UnsafePointer<UInt8>?, UInt32, UInt32, Int32) -> Int
        let peers: [(String, ImageFormat, Encoder)] = [
            ("libjpeg-turbo", .jpeg, peer_encode_jpeg), ("libwebp", .webp, peer_encode_webp),
        ]
        for (name, format, encode) in peers {
            func encodeBare() -> Int {
                image.pixels.withUnsafeBytes { encode($0.bindMemory(to: UInt8.self).baseAddress, width, height, 85) }
            }
            let ours = try CodecRegistry.shared.encode(image, as: format).count
            let share = shareText(ours, of: encodeBare())
            try table.compare("\(format.name.uppercased()), 2 MP, against \(name), \(share)", roundCount: 5) {
                _ = try CodecRegistry.shared.encode(image, as: format)
            } yardstick: {
                _ = encodeBare()
            }
        }
    }

    static func shareText(_ ours: Int, of theirs: Int) -> String {
        "\((Double(ours) / Double(theirs) * 100).rounded() / 100) of its bytes"
    }

    /// A window that moves over a photograph, or one that stands still with a square that moves over it.
    private static func clip(of photo: PixelBuffer, movesWhole: Bool) throws -> Image {
        let size = PixelSize(width: 480, height: 270)
        let scaled = try photo.resampled(to: PixelSize(width: 800, height: 600))
        var animation = EncodableAnimation()
        for index in 0..<30 {
            let corner = movesWhole ? index * 8 : 100
            var frame = try MutablePixelBuffer(width: size.width, height: size.height)
            let stride = frame.bytesPerRow
            frame.withUnsafeMutableBytes { output in
                scaled.withUnsafeBytes { input in
                    for y in 0..<size.height {
                        let start = (y + corner) * scaled.bytesPerRow + corner * 4
                        output[y * stride..<(y + 1) * stride].copyBytes(from: input[start..<start + stride])
                    }
                }
                for y in 100..<140 where !movesWhole {
                    let start = y * stride + (index * 14) * 4
                    for byte in start..<start + 160 { output[byte] = byte % 4 == 3 ? 255 : UInt8(index * 8) }
                }
            }
            animation.append(Image(pixels: frame.freeze(isOpaque: true)), duration: .milliseconds(40))
        }
        // Decoding belongs to neither.
        return try CodecRegistry.shared.decode(CodecRegistry.shared.encode(animation, as: .png))
    }
}

/// A way of writing a file that Pillow has too.
private struct PillowEncoding {
    let name: String
    let format: ImageFormat
    let options: EncodingOptions
    /// The arguments of Pillow's `save`.
    let arguments: String
    /// The preparation of a frame.
    var conversion = "RGB"

    private static var withoutDithering: EncodingOptions {
        var options = EncodingOptions()
        options.dithering = .none
        return options
    }

    static let stills = [
        PillowEncoding(name: "JPEG", format: .jpeg, options: EncodingOptions(), arguments: "'JPEG', quality=85"),
        PillowEncoding(
            name: "JPEG progressive", format: .jpeg, options: EncodingOptions(isProgressive: true),
            arguments: "'JPEG', quality=85, progressive=True"),
        PillowEncoding(name: "PNG", format: .png, options: EncodingOptions(), arguments: "'PNG', compress_level=3"),
        PillowEncoding(
            name: "WebP", format: .webp, options: EncodingOptions(), arguments: "'WEBP', quality=85, method=4"),
        PillowEncoding(
            name: "WebP lossless", format: .webp, options: EncodingOptions(isLossless: true),
            arguments: "'WEBP', lossless=True, method=4, quality=75"),
        PillowEncoding(name: "GIF", format: .gif, options: withoutDithering, arguments: "'GIF'"),
    ]
    static let animations = [
        PillowEncoding(name: "GIF", format: .gif, options: withoutDithering, arguments: "'GIF'"),
        PillowEncoding(name: "APNG", format: .png, options: EncodingOptions(), arguments: "'PNG', compress_level=3"),
        PillowEncoding(
            name: "WebP", format: .webp, options: EncodingOptions(), arguments: "'WEBP', quality=85, method=4"),
        PillowEncoding(
            name: "WebP lossless", format: .webp, options: EncodingOptions(isLossless: true),
            arguments: "'WEBP', lossless=True, method=4, quality=75"),
    ]

    func compare(_ still: Image, in table: BenchmarkTable) throws {
        let source = try CodecRegistry.shared.encode(still, as: .png)
        guard let theirs = try measure(source, isAnimation: false) else { return }
        let ours = try CodecRegistry.shared.encode(still, as: format, options: options).count
        let share = BenchmarkGroup.shareText(ours, of: theirs.byteCount)
        try table.compare(
            "\(name), 2 MP, against Pillow, \(share)", yardstick: .seconds(theirs.seconds), roundCount: 3
        ) {
            _ = try CodecRegistry.shared.encode(still, as: format, options: options)
        }
    }

    /// Both have all frames in memory.
    func compare(_ clip: Image, named title: String, in table: BenchmarkTable) throws {
        guard let data = clip.data, let animation = clip.animation, let theirs = try measure(data, isAnimation: true)
        else { return }
        let reader = animation.makeFrameReader()
        var decoded = EncodableAnimation()
        for (index, frame) in animation.frames.enumerated() {
            decoded.append(Image(pixels: try reader.frame(at: index, cancellation: nil)), duration: frame.duration)
        }
        let ours = try CodecRegistry.shared.encode(decoded, as: format, options: options).count
        let share = BenchmarkGroup.shareText(ours, of: theirs.byteCount)
        let count = animation.frameCount
        try table.compare(
            "\(name), a frame, \(title), against Pillow, \(share)", yardstick: .seconds(theirs.seconds) / count,
            operationCount: count, roundCount: 3
        ) {
            _ = try CodecRegistry.shared.encode(decoded, as: format, options: options)
        }
    }

    private struct Figures: Decodable {
        let seconds: Double
        let byteCount: Int
    }

    /// In a process of its own, which measures itself; `nil` where there is no Pillow.
    private func measure(_ picture: Data, isAnimation: Bool) throws -> Figures? {
        let file = FileManager.default.temporaryDirectory.appending(path: "webimage-\(UUID().uuidString).png")
        try picture.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = """
            import io, json, sys, time
            from PIL import Image, ImageSequence
            image = Image.open(sys.argv[1])
            frames = [frame.convert("\(conversion)") for frame in ImageSequence.Iterator(image)]
            more = dict(save_all=True, append_images=frames[1:], duration=40, loop=0) if \(isAnimation ? "True" : "False") else {}
            times = []
            for _ in range(3):
                output = io.BytesIO()
                start = time.perf_counter()
                frames[0].save(output, \(arguments), **more)
                times.append(time.perf_counter() - start)
            print(json.dumps({"seconds": sorted(times)[1], "byteCount": len(output.getvalue())}))
            """
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, file.path]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try? JSONDecoder().decode(Figures.self, from: data)
    }
}
