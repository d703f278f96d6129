import Foundation
import WebImageCoding
import WebImageCore

/// Programs that people would use instead, each in a process of its own.
extension BenchmarkGroup {
    /// 12 and 2 megapixels, whole, to a thumbnail, and in pieces as they arrive.
    static func compareWithOtherPrograms(_ photo: Data, in table: BenchmarkTable) throws {
        let large = try CodecRegistry.shared.decode(photo)
        let small = Image(pixels: try large.pixels.resampled(to: PixelSize(width: 1632, height: 1224)))
        for (image, name) in [(large, "12 MP"), (small, "2 MP")] {
            for format in [ImageFormat.jpeg, .png, .webp] {
                // Encoding 12 megapixels of WebP takes longer than everything else.
                if format == .webp, image.width == large.width { continue }
                let data = try CodecRegistry.shared.encode(image, as: format, options: EncodingOptions(quality: 0.6))
                let title = "\(format.name.uppercased()), \(name)"
                try comparePieces(data, "\(title), in pieces, against whole", in: table)
                for peer in PeerProgram.all {
                    try peer.compare(data, nil, title, in: table)
                    try peer.compare(data, 200, title, in: table)
                }
            }
        }
    }

    private static func comparePieces(_ data: Data, _ name: String, in table: BenchmarkTable) throws {
        let registry = CodecRegistry.shared
        let piece = 16_384
        try table.compare(name, roundCount: 7) {
            guard let decoder = try registry.makeIncrementalDecoder(startingWith: data.prefix(piece)) else {
                throw WrongResult(description: "no incremental decoder")
            }
            for start in stride(from: piece, to: data.count, by: piece) {
                try decoder.append(data[start..<min(start + piece, data.count)])
            }
            _ = try decoder.finish()
        } yardstick: {
            _ = try registry.decode(data)
        }
    }
}

/// A Python program that measures itself, so that Python's start does not count.
private struct PeerProgram {
    let name: String
    /// What makes `path` a picture, at most `side` pixels large unless that is 0.
    let script: String

    static let all = [
        PeerProgram(
            name: "Pillow",
            script: """
                from PIL import Image
                def decode(path, side):
                    image = Image.open(path)
                    if side: image.thumbnail((side, side))
                    image.convert("RGBA").load()
                """),
        PeerProgram(
            name: "gdk-pixbuf",
            script: """
                import gi
                gi.require_version("GdkPixbuf", "2.0")
                from gi.repository import GdkPixbuf
                def decode(path, side):
                    if side: GdkPixbuf.Pixbuf.new_from_file_at_size(path, side, side)
                    else: GdkPixbuf.Pixbuf.new_from_file(path)
                """),
        // A program of its own for each picture: its start, some 10 ms, counts.
        PeerProgram(
            name: "vipsthumbnail",
            script: """
                import os, subprocess
                def decode(path, side):
                    if not side: raise NotImplementedError
                    subprocess.run(["vipsthumbnail", path, "--size", str(side), "-o", path + ".ppm"], check=True)
                    os.remove(path + ".ppm")
                """),
    ]

    /// Adds a row, unless the program is missing or does not know the format.
    func compare(_ data: Data, _ side: Int?, _ title: String, in table: BenchmarkTable) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "webimage-\(UUID().uuidString)")
        try data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        guard let seconds = try measure(file.path, side ?? 0) else { return }
        let options = DecodingOptions(thumbnail: side.map { Thumbnail(width: $0, height: $0) })
        let what = side.map { "\(title) to \($0) px" } ?? title
        try table.compare("\(what), against \(name)", yardstick: .seconds(seconds), roundCount: 7) {
            _ = try CodecRegistry.shared.decode(data, options: options)
        }
    }

    private func measure(_ path: String, _ side: Int) throws -> Double? {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            script + """

                import sys, time
                times = []
                for _ in range(6):
                    start = time.perf_counter()
                    decode(sys.argv[1], int(sys.argv[2]))
                    times.append(time.perf_counter() - start)
                print(sorted(times[1:])[2])
                """, path, "\(side)",
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Double(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
