import Foundation
import WebImage

/// `ArchiveLoader ARCHIVE` prints the size of each image in a tar archive.
@main
enum Program {
    static func main() async {
        guard CommandLine.arguments.count == 2 else {
            print("Usage: ArchiveLoader ARCHIVE.tar")
            exit(2)
        }
        do {
            try await printSizes()
        } catch {
            print(error)
            exit(1)
        }
    }

    /// Loads the images of the archive, and prints their names and sizes.
    static func printSizes() async throws {
        ImageLoaderGroup.shared.add(ArchiveLoader())
        let path = URL(fileURLWithPath: CommandLine.arguments[1]).path
        for name in try Archive(path: path).names() {
            var components = URLComponents()
            (components.scheme, components.host, components.path, components.query) = ("tar", "", path, name)
            guard let url = components.url else { continue }
            let image = try await WebImageManager.shared.image(at: url)
            print("\(name): \(image.pixels.size)")
        }
    }
}
