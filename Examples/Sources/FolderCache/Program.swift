import Foundation
import WebImage

/// `FolderCache FOLDER URL…` loads images through the cache in FOLDER, and prints where each came from.
@main
enum Program {
    static func main() async {
        guard CommandLine.arguments.count > 2 else {
            print("Usage: FolderCache FOLDER URL…")
            exit(2)
        }
        do {
            let cache = try FolderCache(folder: URL(fileURLWithPath: CommandLine.arguments[1]))
            let manager = WebImageManager(configuration: WebImageManager.Configuration(cache: cache))
            for url in CommandLine.arguments.dropFirst(2).compactMap({ URL(string: $0) }) {
                let request = WebImageRequest(url, options: .waitForStore, cachePolicy: .http)
                let response = try await manager.response(for: request)
                print("\(url.lastPathComponent): \(response.image.pixels.size), \(response.origin)")
            }
        } catch {
            print(error)
            exit(1)
        }
    }
}
