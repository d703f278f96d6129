import Foundation
import WebImage

/// Says how large the desktop's thumbnail of each file is, or the file itself where there is none.
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
