public import FoundationEssentials
public import WebImageCore

/// Reads GIF 87a and 89a: interlaced, transparent, with palettes of the file or the frame.
///
/// It decodes the first frame, on a clear canvas; the background colour is ignored, as browsers do. A file must be whole,
/// but for a still that lacks nothing but its last byte, the trailer.
public struct GIFDecoder: ImageDecoder {
    /// Makes a decoder.
    public init() {}

    /// ``ImageFormat/gif``.
    public var format: ImageFormat { .gif }

    /// Hops over all blocks and counts the frames.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let file = try GIFFile(reading: data.bytes)
        let isAnimation = file.frames.count > 1
        return ImageInfo(
            format: .gif, size: file.size, frameCount: max(1, file.frames.count), loopCount: file.loopCount,
            frameDurations: isAnimation ? file.frames.map(\.duration) : [], hasAlpha: file.hasAlpha)
    }

    /// Decodes the first frame and resamples the canvas to the size wanted.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let bytes = data.bytes
        let file = try GIFFile(reading: bytes)
        let plan = try DecodingPlan(storedSize: file.size, options: options)
        try file.checkCompleteness()
        guard let frame = file.frames.first else { throw .decoding(format: .gif, reason: .corrupt("no frame")) }
        let pixels = try canvas(of: file.size, with: frame, in: bytes, cancellation: options.cancellation)
        return try plan.image(of: pixels, format: .gif, frameCount: file.frames.count)
    }

    private func canvas(
        of size: PixelSize, with frame: GIFFile.Frame, in data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        guard frame.size.width > 0, frame.size.height > 0 else {
            throw .decoding(format: .gif, reason: .corrupt("an empty frame"))
        }
        let colors = try palette(of: frame, in: data)
        let indices = try indices(of: frame, in: data, cancellation: cancellation)
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        var isOpaque = frame.covers(size)
        if !isOpaque { try buffer.clear(cancellation: cancellation) }
        let rowOrder = frame.rowOrder
        try buffer.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            let pixels = bytes.bindMemory(to: UInt32.self)
            try frame.size.forEachRowBatch(cancellation: cancellation) { storedRows in
                for storedRow in storedRows {
                    let start = (frame.top + rowOrder[storedRow]) * size.width + frame.left
                    for column in 0..<frame.size.width {
                        let color = colors[Int(indices[storedRow * frame.size.width + column])]
                        if color == 0 { isOpaque = false }
                        pixels[start + column] = color
                    }
                }
            }
        }
        return buffer.freeze(isOpaque: isOpaque)
    }

    /// The pixel for each of 256 indices; the transparent one and those behind the palette's end are clear.
    private func palette(of frame: GIFFile.Frame, in data: RawSpan) throws(WebImageError) -> [UInt32] {
        guard let range = frame.palette else { throw .decoding(format: .gif, reason: .corrupt("no palette")) }
        var colors = [UInt32](repeating: 0, count: 256)
        for index in 0..<range.count / 3 {
            guard let color = data.integer(at: range.lowerBound + index * 3, count: 3, isBigEndian: false) else {
                throw .decoding(format: .gif, reason: .truncated)
            }
            // In memory red comes first, as in a little-endian number.
            colors[index] = (UInt32(color) | 0xFF00_0000).littleEndian
        }
        if let transparentIndex = frame.transparentIndex { colors[Int(transparentIndex)] = 0 }
        return colors
    }

    private func indices(
        of frame: GIFFile.Frame, in data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> [UInt8] {
        guard let minimumCodeSize = data.byte(at: frame.dataOffset) else {
            throw .decoding(format: .gif, reason: .truncated)
        }
        guard var decoder = LZWDecoder(minimumCodeSize: minimumCodeSize) else {
            throw .decoding(format: .gif, reason: .corrupt("LZW codes of \(minimumCodeSize) bits"))
        }
        let (bytes, isComplete) = frame.compressedBytes(in: data)
        var indices = [UInt8](repeating: 0, count: frame.size.pixelCount)
        let count = try decoder.unpack(bytes, into: &indices, cancellation: cancellation)
        guard count == indices.count else {
            throw .decoding(
                format: .gif, reason: isComplete ? .corrupt("\(indices.count - count) pixels short") : .truncated)
        }
        return indices
    }
}

extension GIFFile.Frame {
    /// The picture's rows in the order in which they are stored: interlaced, every eighth, then those in between.
    fileprivate var rowOrder: [Int] {
        guard isInterlaced else { return Array(0..<size.height) }
        return [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { start, step in
            Array(stride(from: start, to: size.height, by: step))
        }
    }
}
