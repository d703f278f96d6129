import FoundationEssentials
import WebImageGTK

/// Pictures and animations that the program brings along, as files would be.
enum Samples {
    /// The `data:` URL of a file.
    static func url(of data: Data, as format: ImageFormat) throws(WebImageError) -> URL {
        let text = "data:\(format.mimeType);base64,\(data.base64EncodedString())"
        guard let url = URL(string: text) else { throw .invalidURL("data:") }
        return url
    }

    /// A picture as JPEG.
    static func photograph(hour: Double, hue: Double = 0, width: Int = 480, height: Int = 320) throws(WebImageError)
        -> URL
    {
        let landscape = Landscape(size: PixelSize(width: width, height: height), hour: hour, hue: hue)
        return try url(of: CodecRegistry.shared.encode(landscape.image(), as: .jpeg), as: .jpeg)
    }

    /// The sun's way, a frame every 80 ms.
    static func day(hue: Double = 0) throws(WebImageError) -> [Image] {
        var frames: [Image] = []
        for frame in 0..<frameCount {
            let hour = Double(frame) / Double(frameCount - 1)
            frames.append(try Landscape(size: PixelSize(width: 150, height: 100), hour: hour, hue: hue).image())
        }
        return frames
    }

    /// The frames of a day as a file that moves.
    static func animation(of frames: [Image], _ format: ImageFormat) throws(WebImageError) -> URL {
        var animation = EncodableAnimation()
        for frame in frames { animation.append(frame, duration: frameDuration) }
        return try url(of: CodecRegistry.shared.encode(animation, as: format), as: format)
    }

    /// The day as pictures that are decoded one by one.
    static func frameSequence() throws(WebImageError) -> AnimatedImage {
        var files: [Data] = []
        for frame in try day(hue: 0.4) { files.append(try CodecRegistry.shared.encode(frame, as: .jpeg)) }
        return try AnimatedImage(frames: files, durations: [frameDuration])
    }

    /// The day as parts of one picture.
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

    /// Four columns and four rows of a sprite sheet.
    static let frameCount = 16
    private static let frameDuration = 0.08
}
