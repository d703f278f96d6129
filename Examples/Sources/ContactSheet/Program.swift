import Foundation
import WebImage
import WebImageDrawing

/// `ContactSheet SHEET.jpg FILE|URL…` draws thumbnails of images on a sheet, each above its name.
@main
enum Program {
    static func main() async {
        guard CommandLine.arguments.count > 2 else {
            print("Usage: ContactSheet SHEET.jpg FILE|URL…")
            exit(2)
        }
        let urls = CommandLine.arguments.dropFirst(2).map { text in
            URL(string: text).flatMap { $0.scheme == nil ? nil : $0 } ?? URL(fileURLWithPath: text)
        }
        do {
            let jpeg = try CodecRegistry.shared.encode(sheet(of: urls, await thumbnails(of: urls)), as: .jpeg)
            try jpeg.write(to: URL(fileURLWithPath: CommandLine.arguments[1]))
        } catch {
            print(error.localizedDescription)
            exit(1)
        }
    }

    /// The side of a thumbnail in pixels, and that of its cell.
    static let (side, cell) = (240.0, 272.0)

    /// Loads all images at the same time. The manager limits connections and threads.
    static func thumbnails(of urls: [URL]) async -> [Result<Image, any Error>] {
        let thumbnail = Thumbnail(.points(width: side, height: side))
        let loads = urls.map { url in
            Task { try await WebImageManager.shared.image(for: WebImageRequest(url, thumbnail: thumbnail)) }
        }
        var results: [Result<Image, any Error>] = []
        for load in loads { results.append(await load.result) }
        return results
    }

    static func sheet(of urls: [URL], _ thumbnails: [Result<Image, any Error>]) throws(WebImageError) -> Image {
        let columns = min(5, urls.count)
        let size = PointSize(
            width: cell * Double(columns), height: cell * Double((urls.count + columns - 1) / columns))
        return try Image(size: size, isOpaque: true) { context in
            context.fill(Path(PointRect(x: 0, y: 0, width: size.width, height: size.height)), with: .color(.white))
            for (index, (url, thumbnail)) in zip(urls, thumbnails).enumerated() {
                let (x, y) = (cell * Double(index % columns) + 16, cell * Double(index / columns) + 8)
                switch thumbnail {
                case .success(let image):
                    let (left, top) = (x + (side - image.size.width) / 2, y + (side - image.size.height) / 2)
                    context.draw(
                        image, in: PointRect(x: left, y: top, width: image.size.width, height: image.size.height))
                case .failure(let error):
                    context.draw(
                        StyledText(error.localizedDescription, size: 12, wrappingWidth: side), at: Point(x: x, y: y))
                }
                let name = StyledText(
                    url.lastPathComponent, size: 12, alignment: .center, wrappingWidth: side, lineLimit: 1)
                context.draw(name, at: Point(x: x, y: y + side + 4))
            }
        }
    }
}
