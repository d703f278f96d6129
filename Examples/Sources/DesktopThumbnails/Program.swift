import Foundation
import WebImage

/// Prints the size of each file's desktop thumbnail, or of the file itself if it has none.
@main
enum Program {
    static func main() async throws {
        ImageLoaderGroup.shared.add(DesktopThumbnailLoader(store: DesktopThumbnails(side: 256)))
        for path in CommandLine.arguments.dropFirst() {
            var address = URLComponents(url: URL(fileURLWithPath: path), resolvingAgainstBaseURL: true)
            address?.scheme = "thumbnail"
            guard let url = address?.url else { continue }
            let image = try await WebImageManager.shared.image(at: url)
            print("\(path): \(image.width)×\(image.height)")
        }
    }
}
