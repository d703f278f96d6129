internal import CWebImageKernels
internal import WebImageCoding
internal import WebImageCore

/// How the colors of an image (the source) are combined with those of the image below (the destination).
///
/// The first thirteen are the operators of Porter and Duff ("Compositing Digital Images", 1984). The others mix colors
/// where both images cover a pixel, as PDF and W3C's "Compositing and Blending Level 1" define them. Colors are encoded
/// sRGB, as in cairo and Core Graphics.
public enum BlendMode: Sendable, CaseIterable, ProcessorParameter {
    /// Clear.
    case clear
    /// The source only.
    case source
    /// The source over the destination, as usual.
    case sourceOver
    /// The source where the destination is.
    case sourceIn
    /// The source where the destination is not.
    case sourceOut
    /// The source over the destination, where the destination is.
    case sourceAtop
    /// The destination only.
    case destination
    /// The destination over the source.
    case destinationOver
    /// The destination where the source is.
    case destinationIn
    /// The destination where the source is not.
    case destinationOut
    /// The destination over the source, where the source is.
    case destinationAtop
    /// Each where the other is not.
    case xor
    /// The sum of both.
    case add
    /// The product of both: never lighter than either.
    case multiply
    /// The inverse of the product of the inverses: never darker than either.
    case screen
    /// Multiplies dark colors of the destination, screens light ones.
    case overlay
    /// The darker, component by component.
    case darken
    /// The lighter, component by component.
    case lighten
    /// Brightens the destination by the source.
    case colorDodge
    /// Darkens the destination by the source.
    case colorBurn
    /// Multiplies dark colors of the source, screens light ones.
    case hardLight
    /// Darkens or lightens by the source, gently.
    case softLight
    /// The absolute difference.
    case difference
    /// Like ``difference``, with less contrast.
    case exclusion
    /// The source's hue with the destination's saturation and luminosity.
    case hue
    /// The source's saturation with the destination's hue and luminosity.
    case saturation
    /// The source's hue and saturation with the destination's luminosity.
    case color
    /// The source's luminosity with the destination's hue and saturation.
    case luminosity
}

extension BlendMode {
    /// The name of the case.
    public var identifierValue: ProcessorIdentifier.Value { .text(String(describing: self)) }

    /// The kernels' modes have the same order.
    var kernel: cwi_blend_mode { cwi_blend_mode(rawValue: UInt32(Self.allCases.firstIndex(of: self) ?? 0)) }

    /// Whether an opaque destination stays opaque.
    func keepsOpacity(isSourceOpaque: Bool) -> Bool {
        switch self {
        case .clear, .sourceOut, .destinationOut, .xor: false
        case .source, .sourceIn, .destinationIn, .destinationAtop: isSourceOpaque
        default: true
        }
    }
}

extension PixelBuffer {
    /// Returns these pixels with `source` over them. Pixels that `source` does not cover are unchanged in every mode.
    ///
    /// - Parameters:
    ///   - x: the column of the left edge of `source`; may be outside.
    ///   - y: the row of the top edge of `source`.
    ///   - opacity: 0 to 1, multiplied into the source.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    func blended(
        with source: PixelBuffer, x: Int, y: Int, mode: BlendMode, opacity: Double, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let columns = (max(0, x)..<max(0, x, min(width, x + source.width)))
        let rows = max(0, y)..<max(0, y, min(height, y + source.height))
        guard !columns.isEmpty, !rows.isEmpty else { return self }
        let (kernel, opacity, rowLength) = (mode.kernel, Float(opacity), width * 4)
        let keepsOpacity = mode.keepsOpacity(isSourceOpaque: source.isOpaque && opacity == 1)
        return try mapRows(isOpaque: isOpaque && keepsOpacity, cancellation: cancellation) {
            row, backdrop, destination in
            guard rows.contains(row) else { return destination.update(from: backdrop, count: rowLength) }
            let (start, end) = (columns.lowerBound * 4, columns.upperBound * 4)
            destination.update(from: backdrop, count: start)
            cwi_blend(
                kernel, source.row(row - y) + (columns.lowerBound - x) * 4, backdrop + start, destination + start,
                columns.count, opacity)
            (destination + end).update(from: backdrop + end, count: rowLength - end)
        }
    }

    /// Returns these pixels with a color over all of them.
    ///
    /// - Parameter color: finite components; those beyond 0 to 1 are clamped.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    func blended(
        with color: Color, mode: BlendMode, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let (kernel, width) = (mode.kernel, width)
        var line = [UInt8](repeating: 0, count: width * 4)
        cwi_fill(color.premultipliedPixel, &line, width)
        let source = line
        let keepsOpacity = mode.keepsOpacity(isSourceOpaque: color.alpha >= 1)
        return try mapRows(isOpaque: isOpaque && keepsOpacity, cancellation: cancellation) { _, backdrop, destination in
            cwi_blend(kernel, source, backdrop, destination, width, 1)
        }
    }
}

extension PixelBuffer {
    /// Returns an image of the same size, made row by row on several threads.
    ///
    /// - Parameters:
    ///   - isOpaque: whether every pixel of the result is opaque.
    ///   - body: makes a row of the pixels of row `y`.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    func mapRows(
        isOpaque: Bool, cancellation: Cancellation?,
        _ body:
            @escaping @Sendable (
                _ y: Int, _ source: UnsafePointer<UInt8>, _ destination: UnsafeMutablePointer<UInt8>
            ) -> Void
    ) throws(WebImageError) -> PixelBuffer {
        var output = try MutablePixelBuffer(width: width, height: height)
        let stride = output.bytesPerRow
        try output.fillBands(cancellation: cancellation) { rows, destination in
            for y in rows { body(y, self.row(y), destination + (y - rows.lowerBound) * stride) }
        }
        return output.freeze(isOpaque: isOpaque)
    }
}

extension Color {
    /// A premultiplied pixel as a little-endian word: rounded to nearest, components clamped to 0…1.
    var premultipliedPixel: UInt32 {
        func byte(_ value: Double) -> UInt32 { UInt32((min(max(value, 0), 1) * 255).rounded()) }
        let alpha = min(max(alpha, 0), 1)
        func premultiplied(_ value: Double) -> UInt32 { byte(min(max(value, 0), 1) * alpha) }
        return premultiplied(red) | premultiplied(green) << 8 | premultiplied(blue) << 16 | byte(alpha) << 24
    }
}
