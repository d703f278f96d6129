import Foundation
import WebImage
import WebImageShared
import WebImageTestSupport

@testable import WebImageService

/// A service that loads from a server on this machine.
struct ServiceFixture {
    let origin: OriginServer
    let service: ImageService

    init(_ change: (inout ImageService.Configuration) -> Void = { _ in }) throws {
        let origin = try OriginServer()
        try self.init(origin, change)
    }

    init(_ origin: OriginServer, _ change: (inout ImageService.Configuration) -> Void = { _ in }) throws {
        self.origin = origin
        var configuration = Self.configuration
        change(&configuration)
        service = try ImageService(configuration)
    }

    /// It decodes in this process, which takes no time for the start of another one.
    static var configuration: ImageService.Configuration {
        var downloads = ImageDownloader.Configuration.server
        downloads.addressPolicy.allowedNetworks = ["127.0.0.0/8"]
        var configuration = ImageService.Configuration()
        configuration.images.loaders = [ImageDownloader(configuration: downloads)]
        configuration.images.isolation = .libraryFormats
        configuration.images.cache = ImageCache(disk: nil)
        configuration.offeredFormats = [.webp]
        return configuration
    }

    /// A cache for results in a folder.
    static func disk(in directory: TemporaryDirectory) -> DiskCache {
        DiskCache(configuration: DiskCache.Configuration(directory: URL(filePath: directory.path("results"))))
    }

    /// Answers a path behind the place of a signature, which is not checked. `{}` stands for the origin's address.
    func get(_ path: String, _ headers: [String: String] = [:], method: String = "GET") async throws -> ServiceAnswer {
        let address = try origin.url("/").absoluteString.dropLast()
        return await service.answer(
            to: ServiceRequest(
                method: method, target: "/_" + path.replacing("{}", with: address),
                headers: headers.map { HTTPHeader(name: $0.key, value: $0.value) }))
    }

    /// Serves an image with a picture of `size`.
    func serve(_ path: String, width: Int, height: Int, as format: ImageFormat = .png, _ headers: String = "")
        async throws
    {
        let image = try Self.picture(width: width, height: height)
        try await origin.answer(
            path, "Content-Type: \(format.mimeType)\n" + headers, body: CodecRegistry.shared.encode(image, as: format))
    }

    /// Four quarters: red, green, blue, white.
    static func picture(width: Int, height: Int) throws -> Image {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        let stride = pixels.bytesPerRow
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    let color: [UInt8] =
                        switch (x * 2 < width, y * 2 < height) {
                        case (true, true): [255, 0, 0, 255]
                        case (false, true): [0, 255, 0, 255]
                        case (true, false): [0, 0, 255, 255]
                        case (false, false): [255, 255, 255, 255]
                        }
                    for index in 0..<4 { bytes[y * stride + x * 4 + index] = color[index] }
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }
}

extension ServiceAnswer {
    /// The body, which is in memory.
    var bytes: Data { Data(body.data ?? Data()) }

    /// The image in the body.
    var image: Image { get throws { try CodecRegistry.shared.decode(bytes) } }

    /// The width and the height of the image in the body.
    var size: [Int] {
        get throws {
            let size = try CodecRegistry.shared.info(of: bytes).size
            return [size.width, size.height]
        }
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The colors at the centers of the quarters: a letter each, `?` for another color.
    var quarters: String {
        get throws {
            let image = try image
            let (width, height) = (image.pixels.size.width, image.pixels.size.height)
            return [(1, 1), (3, 1), (1, 3), (3, 3)].map { x, y in
                guard let color = image.color(atX: width * x / 4, y: height * y / 4) else { return "?" }
                return Self.letter(of: color)
            }.joined()
        }
    }

    static func letter(of color: Color) -> String {
        if color.alpha < 0.5 { return "-" }
        return switch (color.red > 0.5, color.green > 0.5, color.blue > 0.5) {
        case (true, false, false): "R"
        case (false, true, false): "G"
        case (false, false, true): "B"
        case (true, true, true): "W"
        case (false, false, false): "K"
        default: "?"
        }
    }
}
