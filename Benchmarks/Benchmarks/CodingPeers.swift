import Foundation
import WebImageCoding
import WebImageCore

/// Programs that people would use instead, each in a process of its own.
extension BenchmarkGroup {
    /// Whole, and to a thumbnail.
    static func compareWithOtherPrograms(_ samples: [CodingSample], in table: BenchmarkTable) throws {
        for sample in samples {
            for peer in PeerProgram.all {
                try peer.compare(sample.data, nil, sample.name, in: table)
                try peer.compare(sample.data, 200, sample.name, in: table)
            }
        }
    }
}

/// A Python program that measures itself, so that Python's start does not count.
private struct PeerProgram {
    let name: String
    /// Decodes `path`, to at most `side` pixels unless that is 0.
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
        // A program of its own for each image: its start, some 10 ms, counts.
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
        let options = DecodingOptions(thumbnail: side.map { Thumbnail(.pixels(width: $0, height: $0)) })
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
