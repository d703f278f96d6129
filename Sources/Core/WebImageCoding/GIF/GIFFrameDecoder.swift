internal import FoundationEssentials
internal import WebImageCore

/// Decompresses one frame, at once or as its codes arrive, and paints its pixels.
final class GIFFrameDecoder {
    private var frame: GIFFrame
    private let lzw: LZWDecoder
    /// The offset of the next code byte, and the end of its block.
    private var offset = 1
    private var blockEnd = 1
    private var unpackedSinceCheck = 0

    /// - Parameter frame: needs the first of its codes, which contains their size.
    init(_ frame: GIFFrame, limits: DecodingLimits) throws(WebImageError) {
        guard frame.size.width > 0, frame.size.height > 0 else {
            throw .decoding(format: .gif, reason: .corrupt("an empty frame"))
        }
        try limits.check(frame.size)
        guard let minimumCodeSize = frame.codes.first else { throw .decoding(format: .gif, reason: .truncated) }
        self.frame = frame
        // Not kept, since their memory may still grow.
        self.frame.codes = Data()
        lzw = try LZWDecoder(minimumCodeSize: minimumCodeSize, capacity: frame.size.pixelCount)
    }

    /// The memory of decompressing a frame, in bytes: one index per pixel, and the string table.
    static func workingByteCount(of size: PixelSize) -> Int { size.pixelCount + (1 << 18) }

    /// Decompresses the new bytes of `codes`, which start like those of the last call and may end anywhere.
    func unpack(_ codes: Data, cancellation: Cancellation?) throws(WebImageError) {
        let data = codes.bytes
        try cancellation?.check()
        while lzw.state == .needsBytes {
            if offset == blockEnd {
                guard let length = data.byte(at: offset), length > 0 else { return }
                offset += 1
                blockEnd = offset + Int(length)
            }
            let end = min(blockEnd, data.byteCount)
            guard offset < end else { return }
            let count = lzw.count
            data.extracting(offset..<end).withUnsafeBytes { lzw.unpack($0) }
            // A byte can produce thousands of pixels, or none.
            unpackedSinceCheck += lzw.count - count + end - offset
            offset = end
            if unpackedSinceCheck >= Self.pixelsBetweenChecks {
                unpackedSinceCheck = 0
                try cancellation?.check()
            }
        }
    }

    /// The size as stored, which may exceed the canvas.
    var size: PixelSize { frame.size }

    /// The number of complete rows, in storage order.
    var rowCount: Int { lzw.count / frame.size.width }

    var isComplete: Bool { lzw.count == lzw.capacity }

    /// Whether further codes can add pixels.
    var isWaiting: Bool { lzw.state == .needsBytes }

    /// Throws unless every pixel is there, or at least one row if damage is allowed.
    ///
    /// - Parameter isWhole: whether all codes were there.
    func check(allowsDamage: Bool, isWhole: Bool) throws(WebImageError) {
        guard !isComplete, !allowsDamage || rowCount == 0 else { return }
        let reason: WebImageError.DecodingFailure
        switch lzw.state {
        case .undefinedCode(let code): reason = .corrupt("LZW code \(code) before it is defined")
        case .needsBytes where !isWhole: reason = .truncated
        case .needsBytes, .ended: reason = .corrupt("\(lzw.capacity - lzw.count) pixels short")
        }
        throw .decoding(format: .gif, reason: reason)
    }

    /// Returns the decoded rows within `part`; the rest is transparent.
    ///
    /// Of an incomplete interlaced frame, each row is repeated for the missing ones below it, as in browsers.
    func pixels(of part: FramePart, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var output = try MutablePixelBuffer(width: part.size.width, height: part.size.height)
        if !isComplete { try output.clear(cancellation: cancellation) }
        let (isComplete, rowCount, stride) = (isComplete, rowCount, output.bytesPerRow)
        let rows = StoredRows(of: frame)
        let colors = colors
        var alphas = UInt32.max
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            try frame.size.forEachRowBatch(cancellation: cancellation) { batch in
                for storedRow in batch.prefix(while: { $0 < rowCount }) {
                    let row = rows.position(of: storedRow)
                    guard row.first < part.size.height else { continue }
                    let pixels = UnsafeMutableRawBufferPointer(
                        rebasing: bytes[row.first * stride..<row.first * stride + part.size.width * 4])
                    alphas &= paint(storedRow, with: colors, into: pixels.bindMemory(to: UInt32.self))
                    guard !isComplete else { continue }
                    for copy in row.first + 1..<max(row.first + 1, min(row.first + row.count, part.size.height)) {
                        bytes[copy * stride..<copy * stride + pixels.count].copyBytes(from: pixels)
                    }
                }
            }
        }
        return output.freeze(isOpaque: isComplete && alphas >> 24 == 0xFF)
    }

    /// Returns the frame at `size`, painted row by row so that only its indices are in memory; `nil` if pixels are
    /// missing. The pixels are those of resampling the whole frame.
    func resampled(to size: PixelSize, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        guard isComplete else { return nil }
        let resampler = try RowResampler(from: frame.size, to: size)
        let rows = StoredRows(of: frame)
        let colors = colors
        let width = frame.size.width
        var alphas = UInt32.max
        try frame.size.forEachRowBatch(cancellation: cancellation) { batch in
            for row in batch {
                let storedRow = rows.storedRow(at: row)
                resampler.append { pixels in
                    pixels.withMemoryRebound(to: UInt32.self, capacity: width) { pixels in
                        let pixels = UnsafeMutableBufferPointer(start: pixels, count: width)
                        alphas &= paint(storedRow, with: colors, into: pixels)
                    }
                }
            }
        }
        return resampler.finish(isOpaque: alphas >> 24 == 0xFF)
    }

    /// Paints a row and returns the bitwise AND of its pixels.
    private func paint(
        _ storedRow: Int, with colors: [UInt32], into pixels: UnsafeMutableBufferPointer<UInt32>
    ) -> UInt32 {
        let indices = UnsafeBufferPointer(start: lzw.indices + storedRow * frame.size.width, count: pixels.count)
        return colors.withUnsafeBufferPointer { colors in
            var bits = UInt32.max
            for column in 0..<indices.count {
                let color = colors[Int(indices[column])].littleEndian
                pixels[column] = color
                bits &= color
            }
            return bits
        }
    }

    /// The pixel for each index, red in the lowest byte. The transparent index and those beyond the palette are
    /// transparent. Without a palette, of the frame or of the file, indices are gray levels.
    private var colors: [UInt32] {
        var colors = [UInt32](repeating: 0, count: 256)
        let palette = frame.palette ?? Self.grayPalette
        let data = palette.bytes
        for index in 0..<min(256, data.byteCount / 3) {
            guard let color = data.integer(at: index * 3, count: 3, isBigEndian: false) else { continue }
            colors[index] = UInt32(color) | 0xFF00_0000
        }
        if let transparentIndex = frame.transparentIndex { colors[Int(transparentIndex)] = 0 }
        return colors
    }

    private static let pixelsBetweenChecks = 1 << 18
    private static let grayPalette = Data((0...UInt8.max).flatMap { [$0, $0, $0] })
}

/// The order of stored rows; interlaced frames have four passes (GIF 89a, appendix E).
private struct StoredRows {
    private var passes: [Pass] = []

    private struct Pass {
        let storedRows: Range<Int>
        /// The image row of its first row, and the distance between rows.
        let first: Int
        let step: Int
        /// A row and the following ones that only later passes contain.
        let count: Int
    }

    init(of frame: GIFFrame) {
        let pattern = frame.isInterlaced ? [(0, 8, 8), (4, 8, 4), (2, 4, 2), (1, 2, 1)] : [(0, 1, 1)]
        var start = 0
        for (first, step, count) in pattern {
            let end = start + (max(0, frame.size.height - first) + step - 1) / step
            passes.append(Pass(storedRows: start..<end, first: first, step: step, count: count))
            start = end
        }
    }

    /// Returns the image row of a stored row, and for how many rows it stands in.
    func position(of storedRow: Int) -> (first: Int, count: Int) {
        guard let pass = passes.first(where: { $0.storedRows.contains(storedRow) }) else { return (storedRow, 1) }
        return (pass.first + (storedRow - pass.storedRows.lowerBound) * pass.step, pass.count)
    }

    /// Returns the stored row of an image row.
    func storedRow(at row: Int) -> Int {
        guard let pass = passes.first(where: { row >= $0.first && (row - $0.first).isMultiple(of: $0.step) }) else {
            return row
        }
        return pass.storedRows.lowerBound + (row - pass.first) / pass.step
    }
}
