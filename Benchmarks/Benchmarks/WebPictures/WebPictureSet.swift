import Foundation

/// Images as the web has them, made by `make_pictures.py` once and kept beside this program.
struct WebPictureSet {
    let directory: URL
    /// Of the files, in order.
    let names: [String]
    let byteCount: Int

    init(count: Int) throws {
        let directory = URL(filePath: try MeasuredProcess.sibling("web-pictures"), directoryHint: .isDirectory)
        let outcome = try MeasuredProcess.run([
            "/usr/bin/python3", Self.script("make_pictures.py"), directory.path, "\(count)",
        ])
        let names = outcome.output.split(separator: "\n").map(String.init)
        guard outcome.status == 0, names.count == count else {
            throw WrongResult(
                description: "there are \(names.count) of \(count) pictures: \(outcome.output.suffix(500))")
        }
        byteCount = try names.reduce(0) { sum, name in
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.appending(path: name).path)
            return sum + (attributes[.size] as? Int ?? 0)
        }
        (self.directory, self.names) = (directory, names)
    }

    /// The path of one of the programs in Python.
    static func script(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: name).path
    }
}

/// A decoded image as a client reports it: its size, and twelve colors.
struct PictureSample: Equatable {
    var width = 0
    var height = 0
    /// Premultiplied, of the cells of a grid of 4 by 3, on the average.
    var colors = [SIMD4<UInt8>](repeating: .zero, count: 12)

    /// Of all images, as a client writes them: two bytes of width, two of height, and the colors, for each.
    static func read(from url: URL) throws -> [PictureSample] {
        let bytes = [UInt8](try Data(contentsOf: url))
        return stride(from: 0, to: bytes.count, by: byteCount).map { start in
            PictureSample(
                width: Int(bytes[start]) | Int(bytes[start + 1]) << 8,
                height: Int(bytes[start + 2]) | Int(bytes[start + 3]) << 8,
                colors: stride(from: start + 4, to: start + byteCount, by: 4).map {
                    SIMD4(bytes[$0], bytes[$0 + 1], bytes[$0 + 2], bytes[$0 + 3])
                })
        }
    }

    static let byteCount = 4 + 12 * 4

    var bytes: [UInt8] {
        [UInt8(width & 255), UInt8(width >> 8), UInt8(height & 255), UInt8(height >> 8)]
            + colors.flatMap { [$0.x, $0.y, $0.z, $0.w] }
    }

    /// How far the colors are from others', at the most.
    func distance(to other: PictureSample) -> Int {
        zip(colors, other.colors).map { first, second in
            (0..<4).map { abs(Int(first[$0]) - Int(second[$0])) }.max() ?? 0
        }.max() ?? 0
    }
}
