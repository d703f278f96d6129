import FoundationEssentials
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
