import FoundationEssentials
import Glibc
import WebImageGTK

/// A file that the program encodes from a photograph, by its URL.
///
///     sample:1/still/progressive-jpeg/720/file:///usr/share/backgrounds/…
///            │   │        │           │   └─ photograph
///            │   │        │           └─ width in pixels
///            │   │        └─ encoding
///            │   └─ content
///            └─ version of the encoder below
struct SampleFile: Sendable, Hashable {
    enum Content: String, Sendable { case still, animation }

    enum Encoding: String, Sendable, CaseIterable {
        case jpeg
        case progressiveJPEG = "progressive-jpeg"
        case png
        case interlacedPNG = "interlaced-png"
        case gif, webp, avif, jxl

        var format: ImageFormat {
            switch self {
            case .jpeg, .progressiveJPEG: .jpeg
            case .png, .interlacedPNG: .png
            case .gif: .gif
            case .webp: .webp
            case .avif: .avif
            case .jxl: .jpegXL
            }
        }
    }

    var content: Content
    var encoding: Encoding
    /// The width in pixels; the height follows from the photograph.
    var width: Int
    var photograph: URL

    /// Changes when the same URL means another file, because files are cached on disk.
    private static let version = "1"

    init(_ content: Content, _ encoding: Encoding, width: Int, of photograph: Photograph) {
        (self.content, self.encoding, self.width, self.photograph) = (content, encoding, width, photograph.url)
    }

    /// Reads a URL; `nil` for others.
    init?(_ url: URL) {
        let parts = url.absoluteString.dropFirst(SampleLoader.scheme.count + 1)
            .split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, parts[0] == Self.version, let content = Content(rawValue: parts[1]),
            let encoding = Encoding(rawValue: parts[2]), let width = Int(parts[3]), (1...4_096).contains(width),
            let photograph = URL(string: parts[4])
        else { return nil }
        (self.content, self.encoding, self.width, self.photograph) = (content, encoding, width, photograph)
    }

    var url: URL? {
        let path = [Self.version, content.rawValue, encoding.rawValue, "\(width)", photograph.absoluteString]
        return URL(string: "\(SampleLoader.scheme):" + path.joined(separator: "/"))
    }

    // MARK: Encoding

    /// Encodes the file. Blocks the calling thread.
    func data(cancellation: Cancellation) throws(WebImageError) -> Data {
        switch content {
        case .still: try encodedStill(cancellation)
        case .animation: try encodedAnimation(cancellation)
        }
    }

    private func encodedStill(_ cancellation: Cancellation) throws(WebImageError) -> Data {
        let image = try Self.image(of: photograph, width: width, cancellation)
        if encoding == .interlacedPNG { return try InterlacedPNG.encode(image.pixels) }
        let options = EncodingOptions(isProgressive: encoding == .progressiveJPEG, cancellation: cancellation)
        return try CodecRegistry.shared.encode(image, as: encoding.format, options: options)
    }

    private func encodedAnimation(_ cancellation: Cancellation) throws(WebImageError) -> Data {
        let flight = try PhotographFlight(over: photograph, width: width, cancellation)
        var animation = EncodableAnimation()
        for index in 0..<PhotographFlight.frameCount {
            animation.append(try flight.frame(index, cancellation), duration: PhotographFlight.frameDuration)
        }
        var options = EncodingOptions(quality: 0.7, cancellation: cancellation)
        options.webPEffort = 2
        options.speed = 10
        options.pngLevel = 2
        return try CodecRegistry.shared.encode(animation, as: encoding.format, options: options)
    }

    /// Decodes a photograph, or draws a landscape, at a width in pixels.
    static func image(of url: URL, width: Int, _ cancellation: Cancellation?) throws(WebImageError) -> Image {
        if let number = SampleLoader.landscapeNumber(of: url) {
            return try landscape(number, size: PixelSize(width: width, height: width * 5 / 8))
        }
        let path = url.path(percentEncoded: false)
        guard let data = try? Data(contentsOf: url, options: .mappedIfSafe) else {
            throw .file(path: path, errno: 2)
        }
        var options = DecodingOptions()
        options.thumbnail = Thumbnail(.pixels(width: width))
        options.cancellation = cancellation
        return try CodecRegistry.shared.decode(data, options: options)
    }

    static func landscape(_ number: Int, size: PixelSize) throws(WebImageError) -> Image {
        let part = Double(number % 6) / 5
        return try Landscape(size: size, hour: 0.15 + 0.7 * part, hue: part).image()
    }
}

/// A view that moves over a photograph and comes back to where it began.
struct PhotographFlight: Sendable {
    static let frameCount = 24
    static let frameDuration = Duration.milliseconds(100)

    private let image: Image
    private let size: PointSize

    /// - Parameter width: of the frames, in pixels. Blocks the calling thread.
    init(over photograph: URL, width: Int, _ cancellation: Cancellation?) throws(WebImageError) {
        image = try SampleFile.image(of: photograph, width: width * 3 / 2, cancellation)
        size = PointSize(width: Double(width), height: Double(width * 5 / 8))
    }

    /// Returns a frame. Blocks the calling thread.
    func frame(_ index: Int, _ cancellation: Cancellation?) throws(WebImageError) -> Image {
        let angle = Double(index) / Double(Self.frameCount) * 2 * .pi
        // From the whole width to two thirds of it, and on an ellipse around the middle.
        let zoom = 1.25 - 0.25 * cos(angle)
        let fill = max(size.width / image.size.width, size.height / image.size.height) * zoom
        let (width, height) = (image.size.width * fill, image.size.height * fill)
        let (spareX, spareY) = (width - size.width, height - size.height)
        let rect = PointRect(
            x: -spareX * (0.5 + 0.4 * sin(angle)), y: -spareY * (0.5 + 0.3 * sin(angle * 2)), width: width,
            height: height)
        return try image.processed(by: [.draw(in: rect, canvas: size)], cancellation: cancellation)
    }
}
