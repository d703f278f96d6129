internal import CWebImageKernels
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

struct FlipProcessor: PointProcessor {
    let horizontally: Bool
    let vertically: Bool

    /// Such as `flip(direction:horizontal)`.
    var identifier: ProcessorIdentifier {
        let direction =
            switch (horizontally, vertically) {
            case (false, false): "none"
            case (true, false): "horizontal"
            case (false, true): "vertical"
            case (true, true): "both"
            }
        return ProcessorIdentifier("flip", ["direction": direction])
    }

    /// Copies: GTK, cairo and encoders cannot use rows that run backwards through memory.
    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try pixels.upright(from: orientation, cancellation: context.cancellation)
    }

    var orientation: ImageOrientation {
        switch (horizontally, vertically) {
        case (false, false): .up
        case (true, false): .upMirrored
        case (false, true): .downMirrored
        case (true, true): .down
        }
    }
}

struct RotateProcessor: PointProcessor {
    /// At least 0 and less than 360 degrees.
    let angle: Angle
    let keepsSize: Bool

    init(clockwise angle: Angle, keepsSize: Bool = false) {
        self.angle = angle.normalized
        self.keepsSize = keepsSize
    }

    /// Such as `rotate(degrees:30,keepsSize:no)`.
    var identifier: ProcessorIdentifier {
        ProcessorIdentifier("rotate", ["degrees": angle, "keepsSize": keepsSize])
    }

    /// Returns the same object if the angle is 0.
    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try checkFinite("degrees", angle.degrees)
        guard let orientation = quarterTurns else {
            let size = keepsSize ? pixels.size : pixels.size.rotated(clockwise: angle.radians)
            try checkResult(size, of: pixels.size)
            return try pixels.rotated(clockwise: angle.radians, into: size, cancellation: context.cancellation)
        }
        let rotated = try pixels.upright(from: orientation, cancellation: context.cancellation)
        guard keepsSize, rotated.size != pixels.size else { return rotated }
        // If width and height differ by an odd number, the center moves by half a pixel.
        return try Canvas(color: .clear, size: pixels.size).drawing(
            rotated, x: (pixels.width - rotated.width) >> 1, y: (pixels.height - rotated.height) >> 1,
            replacesBackground: true, cancellation: context.cancellation)
    }

    /// The EXIF orientation for this rotation; `nil` unless it is a multiple of 90 degrees.
    var quarterTurns: ImageOrientation? {
        switch angle.degrees {
        case 0: .up
        case 90: .right
        case 180: .down
        case 270: .left
        default: nil
        }
    }
}

extension PixelSize {
    /// The size, in whole pixels, that holds an image of this size rotated around its center.
    func rotated(clockwise radians: Double) -> PixelSize {
        let (cosine, sine) = (abs(cos(radians)), abs(sin(radians)))
        // Errors of arithmetic are no reason for one more pixel.
        func needed(_ length: Double) -> Int { max(1, Int((length - 1e-6).rounded(.up))) }
        return PixelSize(
            width: needed(Double(width) * cosine + Double(height) * sine),
            height: needed(Double(width) * sine + Double(height) * cosine))
    }
}

extension PixelBuffer {
    /// Returns these pixels rotated around their center, in the middle of `size`.
    ///
    /// Each output pixel samples the input with a bicubic filter, with the outermost pixels repeated beyond the edges.
    /// The rotated outline is then cut out, so that edges are antialiased and do not darken.
    ///
    /// - Throws: ``WebImageError/LimitFailure/side(width:height:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``.
    func rotated(
        clockwise radians: Double, into size: PixelSize, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let (cosine, sine) = (cos(radians), sin(radians))
        let (width, height) = (Double(self.width), Double(self.height))
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let (centerX, centerY) = (Double(size.width) / 2, Double(size.height) / 2)
        // With y downwards, a positive angle is clockwise.
        let corners = [(0, 0), (width, 0), (width, height), (0, height)].map { x, y in
            let (x, y) = (x - width / 2, y - height / 2)
            return ShapeCoverage.Point(centerX + x * cosine - y * sine, centerY + x * sine + y * cosine)
        }
        let shape = ShapeCoverage(corners, width: size.width, height: size.height)
        let stride = output.bytesPerRow
        try output.fillBands(cancellation: cancellation) { [self] rows, destination in
            var mask = [UInt8](repeating: 0, count: size.width)
            var scratch = shape.makeScratch()
            for row in rows {
                let line = destination + (row - rows.lowerBound) * stride
                memset(line, 0, stride)
                let columns = shape.fill(&mask, row: row, with: &scratch)
                guard !columns.isEmpty else { continue }
                // From pixel center to pixel center.
                let (x, y) = (Double(columns.lowerBound) + 0.5 - centerX, Double(row) + 0.5 - centerY)
                let start = line + columns.lowerBound * 4
                cwi_sample_line(
                    self.row(0), bytesPerRow, self.width, self.height, CubicWeights.table,
                    fixed(x * cosine + y * sine + width / 2 - 0.5), fixed(y * cosine - x * sine + height / 2 - 0.5),
                    fixed(cosine), fixed(-sine), start, columns.count)
                mask.withUnsafeBufferPointer { mask in
                    guard let mask = mask.baseAddress else { return }
                    cwi_mask(start, mask + columns.lowerBound, start, columns.count)
                }
            }
        }
        return output.freeze(isOpaque: false)
    }

    private func fixed(_ value: Double) -> Int64 { Int64((value * 0x1p32).rounded()) }
}

/// The weights of four pixels in a row for a point between the middle two.
private enum CubicWeights {
    /// For each 256th of the distance from the second to the third.
    static let table: [Int16] = (0..<Int(CWI_SAMPLING_PHASES)).flatMap { phase -> [Int16] in
        let x = Double(phase) / Double(CWI_SAMPLING_PHASES)
        let one = 1 << Int(CWI_SAMPLING_PRECISION)
        let sides = [cubic(1 + x), cubic(1 - x), cubic(2 - x)].map { Int(($0 * Double(one)).rounded()) }
        // They add up to 1, so that an even area keeps its color.
        return [sides[0], one - sides.reduce(0, +), sides[1], sides[2]].map { Int16(clamping: $0) }
    }

    /// Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981, with a = -1/2.
    private static func cubic(_ x: Double) -> Double {
        x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0
    }
}
