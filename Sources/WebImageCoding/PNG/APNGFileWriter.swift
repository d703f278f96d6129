internal import FoundationEssentials
internal import WebImageCore

/// Writes an APNG frame by frame (W3C PNG, third edition, 11.3.7): see ``APNGSequence`` for the order of chunks.
struct APNGFileWriter {
    private var file = PNGFileWriter()
    private let size: PixelSize
    private let hasAlpha: Bool
    private let options: EncodingOptions
    private var nextNumber: UInt32 = 0

    /// - Parameter isOpaqueThroughout: whether pixels may be stored without alpha, which is shorter, if the first two
    ///   frames are opaque and most pixels change.
    /// - Returns: `nil` if later frames have alpha after all.
    static func encode(
        _ animation: EncodableAnimation, isOpaqueThroughout: Bool, options: EncodingOptions
    ) throws(WebImageError) -> Data? {
        let cancellation = options.cancellation
        var reader = try EncodableFrameReader(
            animation, format: .png, maximumDimension: MutablePixelBuffer.maximumDimension, cancellation: cancellation)
        guard let first = try reader.nextFrame() else { throw .invalidFrames(reason: .none) }
        guard animation.frames.count > 1 else { return try PNGEncoder().encode(Image(pixels: first), options: options) }
        var differences = FrameDifferences(canErase: true, options: options)
        _ = try differences.append(first)
        var writer: APNGFileWriter?
        var index = 0
        while let frame = try reader.nextFrame() {
            guard let patch = try differences.append(frame) else { continue }
            if writer == nil {
                let leavesLittle = try differences.unchangedShare() < FramePatch.worthwhileShare
                let isOpaque = isOpaqueThroughout && first.isOpaque && frame.isOpaque && leavesLittle
                writer = APNGFileWriter(animation, size: first.size, hasAlpha: !isOpaque, options: options)
            }
            let isWritten = try writer?.append(patch, index: index, duration: animation.frames[index].duration)
            guard isWritten == true else { return nil }
            index += 1
        }
        guard let patch = differences.finish(), var writer else { throw .invalidFrames(reason: .none) }
        guard try writer.append(patch, index: index, duration: animation.frames[index].duration) else { return nil }
        return writer.file.finish()
    }

    private init(_ animation: EncodableAnimation, size: PixelSize, hasAlpha: Bool, options: EncodingOptions) {
        self.size = size
        self.hasAlpha = hasAlpha
        self.options = options
        file.appendHeader(of: size, hasAlpha: hasAlpha)
        let playCount = UInt32(min(max(animation.loopCount, 0), Int(Int32.max)))
        file.append(
            .animation,
            PNGFileWriter.bytes(of: UInt32(animation.frames.count)) + PNGFileWriter.bytes(of: playCount))
    }

    /// Returns `false` if the patch needs alpha and the file has none.
    private mutating func append(_ patch: FramePatch, index: Int, duration: Double) throws(WebImageError) -> Bool {
        guard hasAlpha || patch.frame.isOpaque && patch.disposal == .keep else { return false }
        let (pixels, blend) = try patch.pixels(mayBlend: hasAlpha, cancellation: options.cancellation)
        file.append(.frame, control(of: patch, blend: blend, duration: duration))
        let stream = try compressed(pixels)
        if index == 0 {
            file.append(.data, stream)
        } else {
            file.append(.frameData, number(), stream)
        }
        return true
    }

    /// Returns the content of fcTL.
    private mutating func control(of patch: FramePatch, blend: FramePart.Blend, duration: Double) -> [UInt8] {
        let delay = FrameDelay(duration)
        let sides = [
            patch.area.columns.count, patch.area.rows.count, patch.area.columns.lowerBound, patch.area.rows.lowerBound,
        ]
        return number() + sides.flatMap { PNGFileWriter.bytes(of: UInt32($0)) }
            + PNGFileWriter.bytes(of: delay.numerator) + PNGFileWriter.bytes(of: delay.denominator)
            + [patch.disposal == .clear ? 1 : 0, blend == .over ? 1 : 0]
    }

    private mutating func number() -> [UInt8] {
        defer { nextNumber += 1 }
        return PNGFileWriter.bytes(of: nextNumber)
    }

    private func compressed(_ pixels: PixelBuffer) throws(WebImageError) -> Data {
        if let encoder = PNGFastEncoder(pixels, hasAlpha: hasAlpha, options: options) {
            return try encoder.compressed(cancellation: options.cancellation)
        }
        let encoded = try PNGEncoder().encodeRowByRow(pixels, hasAlpha: hasAlpha, options: options)
        var file = PNGFile()
        file.read(encoded.bytes)
        guard let chunks = file.still?.chunks else { throw .encoding(format: .png, reason: .codec("no data")) }
        return chunks.reduce(into: Data()) { $0 += encoded[$1.content] }
    }
}

/// The duration of an APNG frame: a fraction of a second.
struct FrameDelay: Hashable {
    let numerator: UInt16
    let denominator: UInt16

    /// The nearest fraction of two 16-bit numbers, by its continued fraction: a duration from a decoder becomes the
    /// same fraction again.
    init(_ seconds: Double) {
        let seconds = FrameDuration.played(seconds)
        guard seconds < Double(UInt16.max) else {
            (numerator, denominator) = (.max, 1)
            return
        }
        var (last, this) = ((p: 0.0, q: 1.0), (p: 1.0, q: 0.0))
        var rest = seconds
        while true {
            let digit = rest.rounded(.down)
            let next = (p: digit * this.p + last.p, q: digit * this.q + last.q)
            guard max(next.p, next.q) <= Double(UInt16.max) else { break }
            (last, this) = (this, next)
            guard this.p / this.q != seconds, rest != digit else { break }
            rest = 1 / (rest - digit)
        }
        (numerator, denominator) = (UInt16(this.p), UInt16(this.q))
    }
}
