internal import CWebImageKernels
package import WebImageCore

/// How the colours of one file become sRGB: found once a file, then applied to each picture in it.
///
/// Light is converted last, when there are fewest pixels left: ``convertedToSRGB(_:cancellation:)``. Ink can't be resampled as
/// it is, so it is converted first, row by row: ``convertInk(_:pixelCount:)``. Each leaves alone what is the other's.
package struct ColorConversion: Sendable {
    /// `nil` where nothing is to be done.
    private let transform: (any ColorTransform)?
    private let model: ColorModel

    /// For what is sRGB already.
    package static let none = ColorConversion(from: .sRGB)

    /// Finds the way from `encoding`; what describes sRGB, or can't be made sense of, or is for another model than the
    /// picture's, leaves the pixels as they are.
    package init(from encoding: ColorEncoding, model: ColorModel = .rgb) {
        self.model = model
        transform = encoding == .sRGB ? nil : ColorTransformCache.shared.transform(from: encoding, model: model)
    }

    /// Whether pixels stay as they are.
    package var isIdentity: Bool { transform == nil }

    /// Whether ``convertedToSRGB(_:cancellation:)`` takes memory for a second buffer.
    var copiesPixels: Bool { transform != nil && model != .cmyk }

    /// `pixels`, premultiplied in the file's colours, in sRGB; the same object where nothing is to be done.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    package func convertedToSRGB(
        _ pixels: PixelBuffer, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        guard let transform, model != .cmyk else { return pixels }
        var output = try MutablePixelBuffer(width: pixels.width, height: pixels.height)
        let stride = output.bytesPerRow
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
            try pixels.size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows {
                    transform.convert(
                        source + row * pixels.bytesPerRow, to: destination + row * stride, pixelCount: pixels.width)
                }
            }
        }
        return output.freeze(isOpaque: pixels.isOpaque)
    }

    /// Turns ink into opaque sRGB in place: by the file's profile, else by the rule that each ink takes its light away.
    func convertInk(_ pixels: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        if let transform, model == .cmyk {
            transform.convert(pixels, to: pixels, pixelCount: pixelCount)
        } else {
            cwi_inverted_cmyk_to_rgba(pixels, pixelCount)
        }
    }
}
