import Foundation
import WebImageCoding
import WebImageCore

// DecodeMemoryProbe SIDE [FILE]: decodes FILE to a thumbnail of SIDE pixels, or nothing, and prints the most memory that it
// had at once, in bytes (VmHWM: getrusage would count the program that started this one).

let arguments = CommandLine.arguments
guard arguments.count >= 2, let side = Int(arguments[1]) else { exit(2) }
if arguments.count > 2 {
    let data = try Data(contentsOf: URL(filePath: arguments[2]), options: .mappedIfSafe)
    let options = DecodingOptions(thumbnail: Thumbnail(width: side, height: side))
    let image = try CodecRegistry.shared.decode(data, options: options)
    guard max(image.pixels.width, image.pixels.height) == side else { exit(3) }
}
let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
guard let kilobytes = line?.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) }) else { exit(4) }
print(kilobytes * 1024)
