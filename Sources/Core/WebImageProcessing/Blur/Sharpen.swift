internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// Sharpens edges by their lightness, and leaves what is almost smooth and the colors as they are: what a blur takes away is added three times, as
/// far as it is more than 2 of 100, and at most 10 lighter or 20 darker. These are the values of libvips.
struct SharpenProcessor: PointProcessor {
    /// The standard deviation of the blur, in points.
    let deviation: Double

    /// Such as `sharpen(deviation:0.7)`.
    var identifier: ProcessorIdentifier {
        ProcessorIdentifier("sharpen", ["deviation": deviation, "space": "lightness"])
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try checkNotNegative("deviation", deviation)
        guard deviation > 0 else { return pixels }
        let kernel = GaussianKernel(deviation: deviation * context.scale, leastWeight: 0.1)
        guard kernel.radius > 0 else { return pixels }
        let (width, height) = (pixels.width, pixels.height)
        // Of the lightness, as 327.67 for 1 of 100.
        let (plain, across) = try (LightnessPlane(width, height), LightnessPlane(width, height))
        _ = try pixels.mapRows(isOpaque: true, cancellation: context.cancellation) { y, source, _ in
            let line = plain.row(y)
            for x in 0..<width { line[x] = Lightness.scaled(Lightness.of(source + x * 4)) }
            let blurred = kernel.blurred(UnsafePointer(line), count: width, step: 1)
            blurred.withUnsafeBufferPointer { blurred in
                if let start = blurred.baseAddress { across.row(y).update(from: start, count: width) }
            }
        }
        return try pixels.mapRows(isOpaque: pixels.isOpaque, cancellation: context.cancellation) {
            y, source, destination in
            destination.update(from: source, count: width * 4)
            var smooth = [Int16](repeating: 0, count: width)
            smooth.withUnsafeMutableBufferPointer { smooth in
                guard let start = smooth.baseAddress else { return }
                kernel.blur(y, of: height, count: width, into: start) { UnsafePointer(across.row($0)) }
                let line = plain.row(y)
                for x in 0..<width {
                    let change = Self.change(of: Double(Int32(line[x]) - Int32(start[x])) / Lightness.scale)
                    guard change != 0 else { continue }
                    Lightness.set(Double(line[x]) / Lightness.scale + change, of: destination + x * 4)
                }
            }
        }
    }

    /// Returns by how much the lightness of a pixel changes, for its difference from the blurred one.
    private static func change(of difference: Double) -> Double {
        let (smooth, slope, lighter, darker) = (2.0, 3.0, 10.0, 20.0)
        if difference > smooth { return min((difference - smooth) * slope, lighter) }
        if difference < -smooth { return max((difference + smooth) * slope, -darker) }
        return 0
    }
}

/// The lightness of all pixels.
///
/// `@unchecked`: each row is written by one thread, before others read it.
private final class LightnessPlane: @unchecked Sendable {
    private let values: UnsafeMutablePointer<Int16>
    private let width: Int

    init(_ width: Int, _ height: Int) throws(WebImageError) {
        guard let memory = malloc(width * height * MemoryLayout<Int16>.stride) else {
            throw .outOfResources(reason: .memory(byteCount: width * height * 2), url: nil)
        }
        values = memory.bindMemory(to: Int16.self, capacity: width * height)
        self.width = width
    }

    deinit { free(values) }

    func row(_ y: Int) -> UnsafeMutablePointer<Int16> { values + y * width }
}

/// CIE L*, of sRGB.
private enum Lightness {
    /// For whole numbers.
    static let scale = 327.67

    static func scaled(_ lightness: Double) -> Int16 { Int16(min(max((lightness * scale).rounded(), 0), 32_767)) }

    /// The light of each sRGB component.
    private static let light: [Double] = (0...255).map { value in
        let value = Double(value) / 255
        return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    private static func component(of light: Double) -> Double {
        255 * (light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055)
    }

    static func of(_ pixel: UnsafePointer<UInt8>) -> Double {
        116
            * root(
                of: 0.2126729 * light[Int(pixel[0])] + 0.7151522 * light[Int(pixel[1])] + 0.0721750
                    * light[Int(pixel[2])]) - 16
    }

    /// The function of CIE Lab, and its inverse.
    private static func root(of value: Double) -> Double { value > 0.008856 ? cbrt(value) : 7.787 * value + 16.0 / 116 }
    private static func value(of root: Double) -> Double {
        root > 0.2068927 ? root * root * root : (root - 16.0 / 116) / 7.787
    }

    /// Changes the lightness of a pixel, and keeps a* and b*.
    static func set(_ lightness: Double, of pixel: UnsafeMutablePointer<UInt8>) {
        let (red, green, blue) = (light[Int(pixel[0])], light[Int(pixel[1])], light[Int(pixel[2])])
        // D65.
        let (whiteX, whiteZ) = (0.95047, 1.08883)
        let x = root(of: (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / whiteX)
        let y = root(of: 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue)
        let z = root(of: (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / whiteZ)
        let newY = (min(max(lightness, 0), 100) + 16) / 116
        let (newX, newZ) = (whiteX * value(of: newY + x - y), whiteZ * value(of: newY + z - y))
        let light = value(of: newY)
        let components = [
            3.2404542 * newX - 1.5371385 * light - 0.4985314 * newZ,
            -0.9692660 * newX + 1.8760108 * light + 0.0415560 * newZ,
            0.0556434 * newX - 0.2040259 * light + 1.0572252 * newZ,
        ]
        // Premultiplied components never exceed their alpha, which stays.
        let alpha = Double(pixel[3])
        for index in 0..<3 { pixel[index] = UInt8(min(max(component(of: components[index]).rounded(), 0), alpha)) }
    }
}

extension ImageProcessor {
    /// Sharpens edges.
    ///
    /// - Parameter deviation: how wide edges are, as the standard deviation of a Gaussian in points; 0 changes nothing.
    public static func sharpen(deviation: Double) -> Self { Self(SharpenProcessor(deviation: deviation)) }
}
