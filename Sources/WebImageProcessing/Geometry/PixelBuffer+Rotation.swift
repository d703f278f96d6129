internal import CWebImageKernels
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

extension PixelSize {
    /// What a picture of this size takes when it is turned around its centre, in whole pixels.
    func rotated(clockwise radians: Double) -> PixelSize {
        let (cosine, sine) = (abs(cos(radians)), abs(sin(radians)))
        // Arithmetic's errors are no reason for one more pixel.
        func needed(_ length: Double) -> Int { max(1, Int((length - 1e-6).rounded(.up))) }
        return PixelSize(
            width: needed(Double(width) * cosine + Double(height) * sine),
            height: needed(Double(width) * sine + Double(height) * cosine))
    }
}

extension PixelBuffer {
    /// These pixels turned around their centre, in the middle of `size`.
    ///
    /// Each output pixel's centre is turned back, and what lies there is read with a bicubic filter, as if the picture's last
    /// pixels went on beyond its edges; then the shape of the turned picture is cut out, so that edges neither darken nor
    /// show steps.
    ///
    /// - Throws: ``WebImageError/invalidSize(width:height:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``.
    func rotated(
        clockwise radians: Double, into size: PixelSize, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let (cosine, sine) = (cos(radians), sin(radians))
        let (width, height) = (Double(self.width), Double(self.height))
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let (centerX, centerY) = (Double(size.width) / 2, Double(size.height) / 2)
        // With y downwards a positive angle is clockwise.
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
                // From pixel centre to pixel centre.
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
    /// For each 256th of the way from the second to the third.
    static let table: [Int16] = (0..<Int(CWI_SAMPLING_PHASES)).flatMap { phase -> [Int16] in
        let x = Double(phase) / Double(CWI_SAMPLING_PHASES)
        let one = 1 << Int(CWI_SAMPLING_PRECISION)
        let sides = [cubic(1 + x), cubic(1 - x), cubic(2 - x)].map { Int(($0 * Double(one)).rounded()) }
        // They add up to 1, so that an even area keeps its colour.
        return [sides[0], one - sides.reduce(0, +), sides[1], sides[2]].map { Int16(clamping: $0) }
    }

    /// Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981, with a = -1/2.
    private static func cubic(_ x: Double) -> Double {
        x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0
    }
}
