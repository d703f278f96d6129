import Foundation
import WebImageCoding
import WebImageCore

// DecodeMemoryProbe [--limit BYTES] [--pieces COUNT] SIDE [FILE [FRAMES]]
//
// Decodes FILE to a thumbnail of SIDE pixels (0 for the whole image), and FRAMES frames of its animation. Prints the
// peak memory of the process in bytes (VmHWM: getrusage would include the parent process). Without FILE, it decodes
// nothing.
//
// --limit: the memory limit. If the file exceeds it, prints "refused" and the bytes in the error.
// --pieces: the number of pieces in which the file arrives, with a preview after each; the last preview is kept.

var arguments = Array(CommandLine.arguments.dropFirst())
@MainActor func takeOption(_ name: String) -> Int? {
    guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
    defer { arguments.removeSubrange(index...index + 1) }
    return Int(arguments[index + 1])
}
let limit = takeOption("--limit")
let pieceCount = takeOption("--pieces")
guard let side = arguments.first.flatMap({ Int($0) }) else { exit(2) }

@MainActor func check(_ size: PixelSize) {
    guard side == 0 || max(size.width, size.height) == side else { exit(3) }
}

@MainActor func decode(_ data: Data, _ options: DecodingOptions) throws(WebImageError) -> Image {
    guard let pieceCount else { return try CodecRegistry.builtIn.decode(data, options: options) }
    let length = max(64, data.count / pieceCount)
    guard
        let decoder = try CodecRegistry.builtIn.makeIncrementalDecoder(
            startingWith: data.prefix(length), options: options)
    else { exit(3) }
    var shown: Image?
    for start in stride(from: length, to: data.count, by: length) {
        if let preview = try decoder.preview() { shown = preview }
        try decoder.append(data[start..<min(start + length, data.count)])
    }
    let image = try decoder.finish()
    if let shown { check(shown.pixels.size) }
    return image
}

@MainActor func run(_ path: String, frameCount: Int) throws {
    let data = try Data(contentsOf: URL(filePath: path), options: .mappedIfSafe)
    var options = DecodingOptions(
        thumbnail: side == 0 ? nil : Thumbnail(.pixels(width: side, height: side)), firstFrameOnly: frameCount == 0)
    if let limit { options.limits.memoryByteCount = limit }
    let image = try decode(data, options)
    check(image.pixels.size)
    guard frameCount > 0 else { return }
    guard let animation = image.animation, animation.frames.count >= frameCount else { exit(3) }
    let reader = animation.makeFrameReader()
    for index in 0..<frameCount { check(try reader.frame(at: index, cancellation: nil).size) }
}

if arguments.count > 1 {
    do {
        try run(arguments[1], frameCount: arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0)
    } catch WebImageError.limitExceeded(.memory(let byteCount, _), _) {
        print("refused", byteCount)
        exit(0)
    }
}
let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
guard let kilobytes = line?.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) }) else { exit(4) }
print(kilobytes * 1024)
