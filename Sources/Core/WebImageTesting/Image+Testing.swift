import FoundationEssentials
public import WebImage

extension Image {
    /// Returns an image for tests with a red, a green, a blue and a white quarter, from the top left, so that no turned or mirrored copy
    /// looks the same. ``WebImage/Image/init(color:size:scale:)`` makes one of a single color.
    ///
    /// ```swift
    /// let image = try Image.testPattern(width: 64, height: 48)
    /// ```
    ///
    /// - Throws: ``WebImage/WebImageError/LimitFailure/side(width:height:)`` for a side below 1.
    public static func testPattern(width: Int = 16, height: Int = 12) throws(WebImageError) -> Image {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    let color: SIMD4<UInt8> =
                        switch (2 * x < width, 2 * y < height) {
                        case (true, true): SIMD4(255, 0, 0, 255)
                        case (false, true): SIMD4(0, 255, 0, 255)
                        case (true, false): SIMD4(0, 0, 255, 255)
                        case (false, false): SIMD4(255, 255, 255, 255)
                        }
                    bytes.storeBytes(of: color, toByteOffset: 4 * (y * width + x), as: SIMD4<UInt8>.self)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    /// Returns an animation for tests: each frame has one color, from red in the first to blue in the last.
    ///
    /// ```swift
    /// let animation = try Image.testAnimation(frameCount: 5, frameDuration: .milliseconds(40))
    /// ```
    ///
    /// - Parameters:
    ///   - frameCount: at least 1; 3 by default.
    ///   - frameDuration: of each frame; 100 ms by default. As in GIFs, 10 ms and less mean 100 ms.
    ///   - width: in pixels; 16 by default.
    ///   - height: in pixels; 12 by default.
    /// - Throws: ``WebImage/WebImageError/invalidFrames(reason:)`` for a number below 1,
    ///   ``WebImage/WebImageError/LimitFailure/side(width:height:)`` for a side below 1.
    public static func testAnimation(
        frameCount: Int = 3, frameDuration: Duration = .milliseconds(100), width: Int = 16, height: Int = 12
    ) throws(WebImageError) -> Image {
        var files: [Data] = []
        for number in 0..<max(0, frameCount) {
            let share = frameCount < 2 ? 0 : Double(number) / Double(frameCount - 1)
            let frame = try Image(
                color: Color(red: 1 - share, green: 0, blue: share),
                size: PointSize(width: Double(width), height: Double(height)))
            files.append(try CodecRegistry.shared.encode(frame, as: .png))
        }
        return try Image(frames: files, durations: [frameDuration])
    }

    /// The format of ``testFile()``: that of the image's own bytes, otherwise GIF for an animation and PNG for a still.
    var testFormat: ImageFormat {
        if data != nil, let format { return format }
        return animation == nil ? .png : .gif
    }

    /// Returns the file that stands for the image in a test.
    func testFile() throws(WebImageError) -> Data {
        if format != nil, let data { return data }
        return try CodecRegistry.shared.encode(self, as: testFormat)
    }
}
