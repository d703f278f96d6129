import Foundation
import WebImageCoding
import WebImageCore

// DecodeMemoryProbe SIDE [FILE [FRAMES]]: decodes FILE to a thumbnail of SIDE pixels, and as many frames of its animation, or
// nothing, and prints the most memory that it had at once, in bytes (VmHWM: getrusage would count the program that started
// this one).

let arguments = CommandLine.arguments
guard arguments.count >= 2, let side = Int(arguments[1]) else { exit(2) }
if arguments.count > 2 {
    let data = try Data(contentsOf: URL(filePath: arguments[2]), options: .mappedIfSafe)
    let frameCount = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0
    let options = DecodingOptions(thumbnail: Thumbnail(width: side, height: side), firstFrameOnly: frameCount == 0)
    let image = try CodecRegistry.shared.decode(data, options: options)
    guard max(image.pixels.width, image.pixels.height) == side else { exit(3) }
    if frameCount > 0 {
        guard let animation = image.animation, animation.frames.count >= frameCount else { exit(3) }
        let reader = animation.makeFrameReader()
        for index in 0..<frameCount {
            let frame = try reader.frame(at: index, cancellation: nil)
            guard max(frame.width, frame.height) == side else { exit(3) }
        }
    }
}
let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
guard let kilobytes = line?.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) }) else { exit(4) }
print(kilobytes * 1024)
