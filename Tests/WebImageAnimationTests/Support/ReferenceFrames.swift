import Foundation
import WebImageCore

/// A committed animation, and the frames that other programs get from it; see Tests/Fixtures.
struct ReferenceAnimation: Sendable, CustomStringConvertible {
    let name: String
    var description: String { name }

    static let all = [
        "gif-dispose-0.gif", "gif-dispose-1.gif", "gif-dispose-2.gif", "gif-dispose-3.gif", "gif-mixed.gif",
        "gif-outside.gif", "apng-mixed.png", "apng-16.png", "apng-adam7.png",
        "apng-other-still.png", "apng-palette.png", "apng-restore-over.png", "apng-clear-source.png",
        "animated-parts.webp", "animated-small-first.webp",
    ].map(ReferenceAnimation.init)

    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fixtures/images")

    func data() throws -> Data { try Data(contentsOf: Self.directory.appending(path: name)) }

    /// Premultiplied RGBA of each frame, without gaps between rows.
    func frames(count: Int) throws -> [[UInt8]] {
        if name.hasSuffix(".png") {
            return try (0..<count).map { try Self.pixels("\(name)\($0 == 0 ? "" : "-frame\($0)").rgba") }
        }
        // One below the other.
        let all = try Self.pixels(name + (name.hasSuffix(".gif") ? ".frames.rgba" : "-frames.rgba"))
        let length = all.count / count
        return (0..<count).map { Array(all[$0 * length..<($0 + 1) * length]) }
    }

    /// How much a byte may differ: Pillow blends a WebP's straight colours, which rounds differently.
    private var tolerance: Int { name.hasSuffix(".webp") ? 3 : 0 }

    /// Whether pixels are those of the other program.
    func matches(_ pixels: [UInt8], _ reference: [UInt8]) -> Bool {
        if pixels == reference { return true }
        return pixels.count == reference.count
            && zip(pixels, reference).allSatisfy { abs(Int($0) - Int($1)) <= tolerance }
    }

    /// Without the width and height in front.
    private static func pixels(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: directory.appending(path: name)).dropFirst(8))
    }
}
