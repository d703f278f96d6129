import Foundation
import WebImage

for argument in CommandLine.arguments.dropFirst() {
    guard let url = URL(string: argument) else { continue }
    let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 320, height: 240)))
    let image = try await WebImageManager.shared.image(for: request)
    let jpeg = try CodecRegistry.shared.encode(image, as: .jpeg)
    try jpeg.write(to: URL(fileURLWithPath: "\(url.deletingPathExtension().lastPathComponent)-small.jpg"))
}
