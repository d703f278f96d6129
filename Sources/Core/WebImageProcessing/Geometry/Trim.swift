internal import WebImageCoding
public import WebImageCore

/// Removes the border of one color. Of an animation, what is border in all frames.
struct TrimProcessor: Processor {
    /// The largest difference of a component from the border's color, 0 to 255.
    let tolerance: Int
    /// The border's color; `nil` for that of the top left pixel.
    var color: Color?
    /// Whether as much is removed at the left as at the right, and at the top as at the bottom.
    var symmetry = TrimSymmetry()
    /// The color behind translucent pixels when colors are compared; `nil` compares premultiplied components and alpha.
    var matte: Color?

    /// Such as `trim(tolerance:10)`.
    var identifier: ProcessorIdentifier {
        guard color != nil || symmetry != TrimSymmetry() || matte != nil else {
            return ProcessorIdentifier("trim", ["tolerance": tolerance])
        }
        return ProcessorIdentifier(
            "trim",
            [
                "tolerance": tolerance, "color": color, "equalSides": symmetry.horizontal,
                "equalEnds": symmetry.vertical, "matte": matte,
            ])
    }

    /// An image of one color stays as it is.
    func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        let rect = try rect(of: image, cancellation: cancellation)
        guard rect.size != image.pixels.size else { return image }
        return try CropProcessor(area: .pixels(rect)).process(image, cancellation: cancellation)
    }

    /// Returns the part without the border.
    func rect(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> PixelRect {
        guard (0...255).contains(tolerance) else { throw invalid("tolerance", tolerance) }
        var content = try content(of: image.pixels, cancellation: cancellation)
        if let animation = image.animation {
            let reader = animation.makeFrameReader()
            for index in 1..<max(1, animation.frameCount) {
                let frame = try reader.frame(at: index, cancellation: cancellation)
                guard let part = try self.content(of: frame, cancellation: cancellation) else { continue }
                content = content.map { $0.union(part) } ?? part
            }
        }
        let size = image.pixels.size
        return content.map { symmetry.applied(to: $0, in: size) }
            ?? PixelRect(x: 0, y: 0, width: size.width, height: size.height)
    }

    /// Returns the smallest rectangle with everything that differs from the border's color; `nil` if nothing does.
    private func content(of pixels: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) -> PixelRect? {
        let matte = matte.map(Self.components)
        func seen(_ pixel: SIMD4<Int16>) -> SIMD4<Int16> {
            guard let matte, pixel.w < 255 else { return pixel }
            let rest = SIMD4<Int32>(truncatingIfNeeded: matte) &* Int32(255 - pixel.w) &+ 127
            return pixel &+ SIMD4<Int16>(truncatingIfNeeded: rest / 255)
        }
        let border = color.map(Self.components) ?? seen(SIMD4<Int16>(truncatingIfNeeded: pixels[0, 0]))
        let limit = SIMD4<Int16>(repeating: Int16(tolerance))
        let width = pixels.width
        var (left, right, top, bottom) = (width, -1, pixels.height, -1)
        for y in 0..<pixels.height {
            try cancellation?.check()
            let row = UnsafeRawPointer(pixels.row(y))
            func differs(_ x: Int) -> Bool {
                let pixel = seen(
                    SIMD4<Int16>(truncatingIfNeeded: row.load(fromByteOffset: x * 4, as: SIMD4<UInt8>.self)))
                let difference = pixel &- border
                return any(difference .> limit) || any(difference .< (0 &- limit))
            }
            guard let first = (0..<width).first(where: differs) else { continue }
            let last = (first..<width).last(where: differs) ?? first
            (left, right) = (min(left, first), max(right, last))
            (top, bottom) = (min(top, y), y)
        }
        guard right >= 0 else { return nil }
        return PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
    }

    private static func components(of color: Color) -> SIMD4<Int16> {
        let pixel = color.premultipliedPixel
        return SIMD4<Int16>(Int16(pixel & 255), Int16(pixel >> 8 & 255), Int16(pixel >> 16 & 255), Int16(pixel >> 24))
    }
}

extension PixelRect {
    fileprivate func union(_ other: PixelRect) -> PixelRect {
        let (left, top) = (min(x, other.x), min(y, other.y))
        return PixelRect(
            x: left, y: top, width: max(x + width, other.x + other.width) - left,
            height: max(y + height, other.y + other.height) - top)
    }
}

/// Which borders are removed equally on both sides.
public struct TrimSymmetry: Sendable, Hashable {
    /// Left and right.
    public var horizontal = false
    /// Top and bottom.
    public var vertical = false

    /// Creates a symmetry; none by default.
    public init(horizontal: Bool = false, vertical: Bool = false) {
        (self.horizontal, self.vertical) = (horizontal, vertical)
    }

    /// Returns the content with the wider border of two made as narrow as the other.
    fileprivate func applied(to content: PixelRect, in size: PixelSize) -> PixelRect {
        var (left, top) = (content.x, content.y)
        var (right, bottom) = (size.width - left - content.width, size.height - top - content.height)
        if horizontal { (left, right) = (min(left, right), min(left, right)) }
        if vertical { (top, bottom) = (min(top, bottom), min(top, bottom)) }
        return PixelRect(x: left, y: top, width: size.width - left - right, height: size.height - top - bottom)
    }
}

extension ImageProcessor {
    /// Removes the border of one color.
    ///
    /// - Parameters:
    ///   - tolerance: the largest difference of a component, 0 to 255.
    ///   - color: the border's color; by default that of the top left pixel.
    ///   - symmetry: which borders are removed equally on both sides; none by default.
    ///   - matte: what is seen through translucent pixels when colors are compared; by default transparency counts instead.
    public static func trim(
        tolerance: Int = 10, color: Color? = nil, symmetry: TrimSymmetry = TrimSymmetry(), matte: Color? = nil
    ) -> Self { Self(TrimProcessor(tolerance: tolerance, color: color, symmetry: symmetry, matte: matte)) }
}
