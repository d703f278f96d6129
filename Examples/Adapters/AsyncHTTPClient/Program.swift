import AsyncHTTPClient
import Foundation
import WebImage

/// Loads the images of URLs with an `HTTPClient`, and prints where each came from.
@main
enum Program {
    static func main() async {
        let manager = WebImageManager(configuration: .init(loaders: [HTTPClientLoader(.shared)]))
        for address in CommandLine.arguments.dropFirst() {
            do {
                let response = try await manager.response(for: WebImageRequest(address, cachePolicy: .http))
                print("\(response.image.pixels.size) \(response.origin)")
            } catch {
                print("error \(error.code)")
            }
        }
    }
}
