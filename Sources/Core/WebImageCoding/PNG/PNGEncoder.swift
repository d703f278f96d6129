internal import CWebImageDeflate
import FoundationEssentials
import WebImageCore

/// Encodes PNG: RGB for opaque images, else RGBA with straight alpha. Lossless, except for the colors of transparent
/// pixels.
///
/// libdeflate compresses pieces of 1 MiB, on several processors: see ``PNGPixelEncoder``.
///
/// Several frames become an APNG. Durations are fractions of two 16-bit numbers, at most 65,535 s.
struct PNGEncoder: StreamingEncoder {
    init() {}

    package var format: ImageFormat { .png }

    package func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let pixels = image.pixels
        if options.searchesPNG { return try shortest(pixels, options: options) }
        return try plain(pixels, options: options)
    }

    /// Returns the shortest of a few files: with a palette, if there are few colors, each without a filter or with any.
    private func shortest(_ pixels: PixelBuffer, options: EncodingOptions) throws(WebImageError) -> Data {
        if let palette = try PNGPalette(pixels, cancellation: options.cancellation) {
            var file = PNGFileWriter()
            file.appendHeader(PNGLayout(size: pixels.size, bitDepth: palette.bitDepth, colorType: .palette))
            file.append(.palette, palette.content)
            if !palette.transparency.isEmpty { file.append(.transparency, palette.transparency) }
            let rows = palette.rows
            // The highest levels take seconds for more.
            let level = rows.count > 16 << 20 ? min(options.pngLevel, 9) : options.pngLevel
            var stream = try PNGPixelEncoder.deflated(rows, level: Int32(level))
            if let filtered = palette.filteredRows {
                try options.cancellation?.check()
                let other = try PNGPixelEncoder.deflated(filtered, level: Int32(level))
                if other.count < stream.count { stream = other }
            }
            file.append(.data, [], stream)
            let short = try options.addingMetadata(to: file.finish(), pixels.size, as: .png)
            guard pixels.size.pixelCount <= Self.smallPixelCount else { return short }
            let whole = try plain(pixels, options: options)
            return whole.count < short.count ? whole : short
        }
        let any = try plain(pixels, options: options)
        guard options.pngFilter == .adaptive else { return any }
        let none = try plain(pixels, options: options.with { $0.pngFilter = .none })
        return none.count < any.count ? none : any
    }

    /// Up to here, a palette may be longer than what it saves.
    private static let smallPixelCount = 1 << 16

    private func plain(_ pixels: PixelBuffer, options: EncodingOptions) throws(WebImageError) -> Data {
        let encoder = PNGPixelEncoder(pixels, hasAlpha: !pixels.isOpaque, options: options)
        var file = PNGFileWriter()
        file.appendHeader(of: pixels.size, hasAlpha: !pixels.isOpaque)
        file.append(.data, [], try encoder.compressed(cancellation: options.cancellation))
        return try options.addingMetadata(to: file.finish(), pixels.size, as: .png)
    }

    package func encode(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        var data = try APNGFileWriter.encode(animation, isOpaqueThroughout: true, options: options, to: nil)
        if data == nil {
            data = try APNGFileWriter.encode(animation, isOpaqueThroughout: false, options: options, to: nil)
        }
        guard let data else { preconditionFailure("a frame that not even a file with alpha holds") }
        return data
    }

    func encode(
        _ animation: EncodableAnimation, options: EncodingOptions, to file: UnfinishedFile
    ) throws(WebImageError) {
        var rest = try APNGFileWriter.encode(animation, isOpaqueThroughout: true, options: options, to: file)
        if rest == nil {
            try file.clear()
            rest = try APNGFileWriter.encode(animation, isOpaqueThroughout: false, options: options, to: file)
        }
        guard let rest else { preconditionFailure("a frame that not even a file with alpha holds") }
        try file.append(rest)
    }
}

extension EncodingOptions.PNGFilter {
    /// The format's number; `nil` for the adaptive filter.
    var number: Int32? {
        switch self {
        case .adaptive: nil
        case .none: 0
        case .sub: 1
        case .up: 2
        case .average: 3
        case .paeth: 4
        }
    }
}

/// Writes the chunks of a PNG.
struct PNGFileWriter {
    private var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])

    init() {}

    /// Continues a file.
    init(_ file: Data) { self.file = file }

    /// 8 bits a channel, sRGB with perceptual intent.
    mutating func appendHeader(of size: PixelSize, hasAlpha: Bool) {
        appendHeader(PNGLayout(size: size, colorType: hasAlpha ? .rgba : .rgb))
    }

    /// sRGB with perceptual intent.
    mutating func appendHeader(_ layout: PNGLayout) {
        append(.header, layout.content)
        append(.sRGB, [0])
    }

    /// Appends a chunk with the bytes of `prefix` and `content`.
    mutating func append(_ name: PNGChunk.Name, _ prefix: [UInt8], _ content: Data = Data()) {
        file.append(contentsOf: Self.bytes(of: UInt32(prefix.count + content.count)))
        let start = file.count
        file.append(contentsOf: Self.bytes(of: name.rawValue))
        file.append(contentsOf: prefix)
        file.append(content)
        let checksum = file[start...].withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) }
        file.append(contentsOf: Self.bytes(of: checksum))
    }

    /// Appends chunks of another file.
    mutating func append(_ chunks: Data) { file.append(chunks) }

    /// The file so far.
    var data: Data { file }

    /// Returns the file so far, or what follows after the last such call.
    mutating func takeData() -> Data {
        defer { file = Data() }
        return file
    }

    /// Returns the file.
    mutating func finish() -> Data {
        append(.end, [])
        return file
    }

    /// Big-endian.
    static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
        stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}

/// Writes an APNG frame by frame (W3C PNG, third edition, 11.3.7): see ``APNGSequence`` for the order of chunks.
struct APNGFileWriter {
    private var file = PNGFileWriter()
    private let hasAlpha: Bool
    private let options: EncodingOptions
    private var nextNumber: UInt32 = 0

    /// - Parameters:
    ///   - isOpaqueThroughout: whether pixels may be stored without alpha, which is shorter, if the first two frames are opaque and most
    ///     pixels change.
    ///   - target: gets the frames as they are encoded; `nil` to keep them in memory.
    /// - Returns: the file, or its rest; `nil` if later frames have alpha after all.
    static func encode(
        _ animation: EncodableAnimation, isOpaqueThroughout: Bool, options: EncodingOptions, to target: UnfinishedFile?
    ) throws(WebImageError) -> Data? {
        let cancellation = options.cancellation
        var reader = try EncodableFrameReader(
            animation, format: .png, maximumDimension: PixelSize.maximumDimension, cancellation: cancellation)
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
                writer = try APNGFileWriter(animation, size: first.size, hasAlpha: !isOpaque, options: options)
            }
            let isWritten = try writer?.append(patch, index: index, duration: animation.frames[index].duration)
            guard isWritten == true else { return nil }
            if let target, let part = writer?.file.takeData() { try target.append(part) }
            index += 1
        }
        guard let patch = differences.finish(), var writer else { throw .invalidFrames(reason: .none) }
        guard try writer.append(patch, index: index, duration: animation.frames[index].duration) else { return nil }
        return writer.file.finish()
    }

    private init(
        _ animation: EncodableAnimation, size: PixelSize, hasAlpha: Bool, options: EncodingOptions
    ) throws(WebImageError) {
        self.hasAlpha = hasAlpha
        self.options = options
        file.appendHeader(of: size, hasAlpha: hasAlpha)
        file = PNGFileWriter(try options.addingMetadata(to: file.data, size, as: .png))
        let playCount = UInt32(min(max(animation.loopCount, 0), Int(Int32.max)))
        file.append(
            .animation,
            PNGFileWriter.bytes(of: UInt32(animation.frames.count)) + PNGFileWriter.bytes(of: playCount))
    }

    /// Returns `false` if the patch needs alpha and the file has none.
    private mutating func append(_ patch: FramePatch, index: Int, duration: Duration) throws(WebImageError) -> Bool {
        guard hasAlpha || patch.frame.isOpaque && patch.disposal == .keep else { return false }
        let (pixels, blend) = try patch.pixels(mayBlend: hasAlpha, cancellation: options.cancellation)
        file.append(.frame, control(of: patch, blend: blend, duration: duration))
        let stream = try compressed(pixels)
        if index == 0 {
            file.append(.data, [], stream)
        } else {
            file.append(.frameData, number(), stream)
        }
        return true
    }

    /// Returns the content of fcTL.
    private mutating func control(of patch: FramePatch, blend: FramePart.Blend, duration: Duration) -> [UInt8] {
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
        try PNGPixelEncoder(pixels, hasAlpha: hasAlpha, options: options).compressed(cancellation: options.cancellation)
    }
}

/// The duration of an APNG frame: a fraction of a second.
struct FrameDelay: Equatable {
    let numerator: UInt16
    let denominator: UInt16

    /// The nearest fraction of two 16-bit numbers, by its continued fraction: a duration from a decoder becomes the
    /// same fraction again.
    init(_ duration: Duration) {
        let seconds = FrameDuration.played(duration).inExactSeconds
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
