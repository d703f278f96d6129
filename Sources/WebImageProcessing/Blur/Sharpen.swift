internal import WebImageCoding
internal import WebImageCore

/// Sharpens by an unsharp mask: what a blur takes away is added once more.
struct SharpenProcessor: PointProcessor {
    /// The standard deviation of the blur, in points.
    let deviation: Double

    /// Such as `sharpen(deviation:0.7)`.
    var identifier: ProcessorIdentifier { ProcessorIdentifier("sharpen", values: ["deviation": deviation]) }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try checkNotNegative("deviation", deviation)
        let blurred = try pixels.blurred(radius: 2 * deviation * context.scale, cancellation: context.cancellation)
        guard blurred !== pixels else { return pixels }
        let width = pixels.width
        return try pixels.mapRows(isOpaque: pixels.isOpaque, cancellation: context.cancellation) {
            y, source, destination in
            let smooth = blurred.row(y)
            for pixel in 0..<width {
                let start = pixel * 4
                // Premultiplied components never exceed their alpha, which stays.
                let alpha = Int32(source[start + 3])
                for index in start..<start + 3 {
                    let value = 2 * Int32(source[index]) - Int32(smooth[index])
                    destination[index] = UInt8(truncatingIfNeeded: min(max(value, 0), alpha))
                }
                destination[start + 3] = UInt8(truncatingIfNeeded: alpha)
            }
        }
    }
}

extension ImageProcessor {
    /// Sharpens edges.
    ///
    /// - Parameter deviation: how wide edges are, as the standard deviation of a Gaussian in points; 0 changes nothing.
    package static func sharpen(deviation: Double) -> Self { Self(SharpenProcessor(deviation: deviation)) }
}
