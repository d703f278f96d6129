import Foundation
import WebImage

let urls = CommandLine.arguments.dropFirst().compactMap { URL(string: $0) }
if urls.isEmpty { print("Usage: Thumbnailer URL…") }
var failures = urls.isEmpty
for url in urls {
    do {
        let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 320, height: 240)))
        let image = try await WebImageManager.shared.image(for: request)
        let jpeg = try CodecRegistry.shared.encode(image, as: .jpeg)
        try jpeg.write(to: URL(fileURLWithPath: "\(url.deletingPathExtension().lastPathComponent)-small.jpg"))
    } catch {
        print(error)
        failures = true
    }
}
exit(failures ? 1 : 0)
