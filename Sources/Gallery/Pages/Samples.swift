import FoundationEssentials
import Glibc
import WebImageGTK

/// Sample images and animations, drawn and encoded by the program.
enum Samples {
    /// Returns the `data:` URL of a file.
    static func url(of data: Data, as format: ImageFormat) throws(WebImageError) -> URL {
        let text = "data:\(format.mimeType);base64,\(data.base64EncodedString())"
        guard let url = URL(string: text) else { throw .invalidURL("data:") }
        return url
    }

    /// Returns the `data:` URL of a landscape as JPEG. `width` and `height` are in pixels.
    static func photograph(hour: Double, hue: Double = 0, width: Int = 480, height: Int = 320) throws(WebImageError)
        -> URL
    {
        let landscape = Landscape(size: PixelSize(width: width, height: height), hour: hour, hue: hue)
        return try url(of: CodecRegistry.shared.encode(landscape.image(), as: .jpeg), as: .jpeg)
    }

    /// Returns the frames of a day, from sunrise to sunset.
    static func day(hue: Double = 0) throws(WebImageError) -> [Image] {
        var frames: [Image] = []
        for frame in 0..<frameCount {
            let hour = Double(frame) / Double(frameCount - 1)
            frames.append(try Landscape(size: PixelSize(width: 150, height: 100), hour: hour, hue: hue).image())
        }
        return frames
    }

    /// Encodes `frames` as an animation with 80 ms per frame, and returns its `data:` URL.
    static func animation(of frames: [Image], _ format: ImageFormat) throws(WebImageError) -> URL {
        var animation = EncodableAnimation()
        for frame in frames { animation.append(frame, duration: frameDuration) }
        return try url(of: CodecRegistry.shared.encode(animation, as: format), as: format)
    }

    /// Returns the day as a sequence of JPEG files that are decoded one by one.
    static func frameSequence() throws(WebImageError) -> AnimatedImage {
        var files: [Data] = []
        for frame in try day(hue: 0.4) { files.append(try CodecRegistry.shared.encode(frame, as: .jpeg)) }
        return try AnimatedImage(frames: files, durations: [frameDuration])
    }

    /// Returns the day as a sprite sheet.
    static func spriteSheet() throws(WebImageError) -> AnimatedImage {
        let frames = try day(hue: 0.8)
        let (width, height) = (frames[0].width, frames[0].height)
        var sheet = try MutablePixelBuffer(width: width * 4, height: height * 4)
        let stride = sheet.bytesPerRow
        sheet.withUnsafeMutableBytes { bytes in
            for (number, frame) in frames.enumerated() {
                for y in 0..<height {
                    for x in 0..<width {
                        let offset = (number / 4 * height + y) * stride + (number % 4 * width + x) * 4
                        bytes.storeBytes(of: frame.pixels[x, y], toByteOffset: offset, as: SIMD4<UInt8>.self)
                    }
                }
            }
        }
        return try AnimatedImage(
            spriteSheet: sheet.freeze(isOpaque: true), columns: 4, rows: 4, frameDuration: frameDuration)
    }

    /// The number of frames of a day: a sprite sheet of four columns and four rows.
    static let frameCount = 16
    private static let frameDuration = 0.08
}

/// A landscape with hills and the sun, computed so that the pages need no image files.
struct Landscape {
    /// The size in pixels.
    var size = PixelSize(width: 480, height: 320)
    /// The position of the sun: 0 is behind the hills at the left, 1 behind those at the right.
    var hour = 0.4
    /// The share of rotated color channels, from 0 to 1.
    var hue = 0.0

    func image() throws(WebImageError) -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = pixels.bytesPerRow
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let color = color(x: Double(x) / Double(size.width), y: Double(y) / Double(size.height))
                    bytes.storeBytes(of: color, toByteOffset: y * stride + x * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    /// Returns the color at a position.
    ///
    /// - Parameters:
    ///   - x: 0 at the left edge, 1 at the right edge.
    ///   - y: 0 at the top edge, 1 at the bottom edge.
    private func color(x: Double, y: Double) -> SIMD4<UInt8> {
        var color = SIMD3(0.20 + 0.65 * y, 0.42 + 0.35 * y, 0.80 - 0.15 * y)
        let (sunX, sunY) = (0.1 + 0.8 * hour, 0.75 - 0.6 * sin(hour * .pi))
        let aspect = Double(size.width) / Double(size.height)
        let distance = hypot((x - sunX) * aspect, y - sunY)
        color += SIMD3(1.0, 0.8, 0.4) * (0.5 * exp(-distance * 5))
        if distance < 0.08 { color = SIMD3(1, 0.95, 0.75) }
        for hill in 0..<3 {
            let depth = Double(hill)
            let ridge = 0.62 + depth * 0.1 + 0.06 * sin(x * (7 + depth * 3) + depth * 2) + 0.02 * sin(x * 31 + depth)
            if y > ridge { color = SIMD3(0.28, 0.40, 0.30) * (0.95 - depth * 0.22) + 0.05 * (y - ridge) }
        }
        let turned = SIMD3(color[1], color[2], color[0]) * hue + color * (1 - hue)
        func level(_ part: Double) -> UInt8 { UInt8(max(0, min(255, part * 255))) }
        return SIMD4(level(turned[0]), level(turned[1]), level(turned[2]), 255)
    }
}
