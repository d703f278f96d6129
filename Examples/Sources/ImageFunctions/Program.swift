import Foundation
import WebImage

/// Calls all functions of ``UserImage`` with each file, and writes what they make into the current folder.
@main
enum Program {
    static func main() {
        let paths = CommandLine.arguments.dropFirst()
        if paths.isEmpty { print("Usage: ImageFunctions FILE…") }
        var failures = paths.isEmpty
        for path in paths {
            let file = URL(filePath: path)
            do {
                try show(UserImage(Data(contentsOf: file)), file.lastPathComponent)
            } catch {
                print("\(file.lastPathComponent): \(error)")
                failures = true
            }
        }
        exit(failures ? 1 : 0)
    }

    private static func show(_ image: UserImage, _ name: String) throws {
        try image.validate(Set(ImageFormat.known))
        let (size, metadata) = (try image.size(), try image.metadata())
        let properties = [
            image.format?.name ?? "?", "\(size)", "\(try image.orientation())",
            try image.hasTransparency() ? "transparent" : "opaque", metadata?.camera ?? "no camera",
            metadata?.hasLocation == true ? "place" : "no place",
        ]
        print("\(name): \(properties.joined(separator: ", "))")
        try write(image.thumbnail(side: 128), name, "thumbnail")
        if let animation = try image.animatedThumbnail(side: 96) { try write(animation, name, "animation") }
        let side = min(size.width, size.height, 100)
        try write(image.cropped(to: PixelSize(width: side, height: side)), name, "square")
        try write(image.stripped(), name, "stripped")
    }

    private static func write(_ data: Data, _ name: String, _ what: String) throws {
        let format = ImageFormat(signatureOf: data)?.fileExtension ?? "?"
        try data.write(to: URL(filePath: "\(name).\(what).\(format)"))
    }
}
