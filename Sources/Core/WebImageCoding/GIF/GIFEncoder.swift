internal import CWebImageKernels
internal import FoundationEssentials
internal import WebImageCore

/// Encodes GIF: still images and animations, with optimized palettes.
///
/// Frames of at most 256 colors are lossless. Pixels with at least half alpha are blended over
/// ``EncodingOptions/background``, the others become transparent. Durations are multiples of 10 ms, from 20 ms (players
/// show less for 100 ms) to 655.35 s.
struct GIFEncoder: AnimationEncoder {
    init() {}

    var format: ImageFormat { .gif }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        var animation = EncodableAnimation()
        animation.append(Image(pixels: image.pixels), duration: .zero)
        return try encode(animation, options: options)
    }

    func encode(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        let encoding = GIFEncoding(animation, options: options)
        if encoding.hasOnePalette {
            try forEachPatch(of: animation, options: options) { (patch) throws(WebImageError) in
                try encoding.countColors(of: patch)
            }
            encoding.choosePalette()
        }
        try forEachPatch(of: animation, options: options) { (patch) throws(WebImageError) in
            try encoding.append(patch)
        }
        return try encoding.finish()
    }

    private func forEachPatch(
        of animation: EncodableAnimation, options: EncodingOptions,
        _ body: (FramePatch) throws(WebImageError) -> Void
    ) throws(WebImageError) {
        var reader = try EncodableFrameReader(
            animation, format: .gif, maximumDimension: 0xFFFF, cancellation: options.cancellation)
        var differences = FrameDifferences(canErase: false, options: options)
        while let frame = try reader.nextFrame() {
            let solid = try frame.withoutTranslucency(over: options.background, cancellation: options.cancellation)
            if let patch = try differences.append(solid) { try body(patch) }
        }
        if let patch = differences.finish() { try body(patch) }
    }
}

/// Encodes one patch after the other: chooses its palette, then its indices.
///
///     patch ─▶ content: opaque or clear pixels ─▶ its own palette, or the file's ─▶ indices ─▶ LZW codes
final class GIFEncoding {
    private let animation: EncodableAnimation
    private let options: EncodingOptions
    private let isAnimation: Bool
    /// The colors of all frames, if they share a palette.
    private var histogram = ColorHistogram()
    /// The global palette: of all frames, or of the first one and of those whose colors fit too.
    private var palette: GIFPalette?
    private var mapper: PaletteMapper?
    private var clock = FrameClock(unitsPerSecond: 100, minimum: 2, maximum: 0xFFFF)
    private var writer: GIFFileWriter?
    private var index = 0

    init(_ animation: EncodableAnimation, options: EncodingOptions) {
        self.animation = animation
        self.options = options
        isAnimation = animation.frames.count > 1
    }

    /// Whether ``countColors(of:)`` has to be called for every patch, then ``choosePalette()``, before ``append(_:)``.
    var hasOnePalette: Bool { isAnimation && options.palette == .global }

    func countColors(of patch: FramePatch) throws(WebImageError) {
        try histogram.add(content(of: patch, mayBeTransparent: true), cancellation: options.cancellation)
    }

    func choosePalette() { usePalette(for: histogram) }

    func append(_ patch: FramePatch) throws(WebImageError) {
        let content = try content(of: patch, mayBeTransparent: !hasOnePalette || palette?.transparentIndex != nil)
        let own = try ownPalette(for: content)
        guard let palette = own?.palette ?? palette else { throw Self.noFrames }
        let (left, top) = (patch.area.columns.lowerBound, patch.area.rows.lowerBound)
        var indices: [UInt8]?
        if var own {
            indices = try own.mapper.indices(of: content, left: left, top: top, cancellation: options.cancellation)
        } else {
            indices = try mapper?.indices(of: content, left: left, top: top, cancellation: options.cancellation)
        }
        let codes = try LZWEncoder.packed(
            indices ?? [], minimumCodeSize: max(2, palette.bitCount), cancellation: options.cancellation)
        if writer == nil {
            let size = patch.frame.size
            writer = GIFFileWriter(
                width: size.width, height: size.height, loopCount: isAnimation ? animation.loopCount : nil)
        }
        writer?.append(
            patch.area, ownPalette: own?.palette, transparentIndex: content.isOpaque ? nil : palette.transparentIndex,
            hundredths: isAnimation ? clock.units(for: animation.frames[index].duration) : 0,
            disposal: patch.disposal, codes: codes)
        index += 1
    }

    func finish() throws(WebImageError) -> Data {
        guard let writer, let palette else { throw Self.noFrames }
        return writer.finish(palette: palette)
    }

    /// Returns the local palette of a frame for which the global one is not enough. The first frame's palette is the
    /// global one, and grows as long as it has every color of the frames that use it.
    private func ownPalette(
        for content: PixelBuffer
    ) throws(WebImageError) -> (palette: GIFPalette, mapper: PaletteMapper)? {
        guard !hasOnePalette else { return nil }
        var histogram = ColorHistogram()
        try histogram.add(content, cancellation: options.cancellation)
        guard let shared = palette else {
            usePalette(for: histogram)
            return nil
        }
        if shared.holds(histogram) { return nil }
        if let extended = shared.extended(for: histogram, limit: options.colorLimit) {
            palette = extended
            mapper = PaletteMapper(extended, dithering: options.dithering)
            return nil
        }
        let own = GIFPalette(for: histogram, limit: options.colorLimit, mayBeTransparent: false)
        return (own, PaletteMapper(own, dithering: options.dithering))
    }

    private func usePalette(for histogram: ColorHistogram) {
        let palette = GIFPalette(for: histogram, limit: options.colorLimit, mayBeTransparent: isAnimation)
        self.palette = palette
        mapper = PaletteMapper(palette, dithering: options.dithering)
    }

    /// Returns the pixels to store, opaque or transparent. Unchanged ones are left out, unless transparency would be
    /// one color too many.
    private func content(of patch: FramePatch, mayBeTransparent: Bool) throws(WebImageError) -> PixelBuffer {
        let isWhole = patch.area == PixelArea(patch.frame.size)
        let whole =
            isWhole ? patch.frame : try patch.frame.cropped(to: patch.area, cancellation: options.cancellation)
        guard let changes = try patch.changes(cancellation: options.cancellation) else { return whole }
        guard whole.isOpaque else { return changes }
        guard mayBeTransparent else { return whole }
        var histogram = ColorHistogram()
        try histogram.add(changes, cancellation: options.cancellation)
        guard histogram.hasClearPixels else { return whole }
        return histogram.exact?.colors.count == options.colorLimit ? whole : changes
    }

    private static let noFrames = WebImageError.invalidFrames(reason: .none)
}

/// Writes a GIF block by block (GIF 89a, appendix A).
struct GIFFileWriter {
    private let sides: [UInt8]
    /// The blocks after the global palette.
    private var blocks = Data()

    /// - Parameter loopCount: how often it plays, 0 means forever; the file stores the number of repetitions. `nil` for
    ///   a still image.
    init(width: Int, height: Int, loopCount: Int?) {
        sides = Self.bytes(of: width) + Self.bytes(of: height)
        guard let loopCount, loopCount != 1 else { return }
        let repeatCount = loopCount <= 0 ? 0 : min(loopCount - 1, 0xFFFF)
        blocks += [0x21, 0xFF, 11] + Data("NETSCAPE2.0".utf8) + [3, 1] + Self.bytes(of: repeatCount) + [0]
    }

    /// Appends a frame.
    ///
    /// - Parameters:
    ///   - ownPalette: the local palette, if any.
    ///   - codes: the compressed indices, starting with the minimum code size.
    mutating func append(
        _ area: PixelArea, ownPalette: GIFPalette?, transparentIndex: UInt8?, hundredths: Int,
        disposal: FramePart.Disposal, codes: [UInt8]
    ) {
        let disposalNumber: UInt8 = disposal == .clear ? 2 : 1
        blocks += [0x21, 0xF9, 4, disposalNumber << 2 | (transparentIndex == nil ? 0 : 1)]
        blocks += Self.bytes(of: hundredths) + [transparentIndex ?? 0, 0, 0x2C]
        for number in [area.columns.lowerBound, area.rows.lowerBound, area.columns.count, area.rows.count] {
            blocks += Self.bytes(of: number)
        }
        if let ownPalette {
            blocks.append(0x80 | UInt8(ownPalette.bitCount - 1))
            blocks += ownPalette.table
        } else {
            blocks.append(0)
        }
        blocks += codes
    }

    /// Returns the file.
    ///
    /// - Parameter palette: the global palette.
    func finish(palette: GIFPalette) -> Data {
        var file = Data("GIF89a".utf8) + sides + [0xF0 | UInt8(palette.bitCount - 1), 0, 0]
        file += palette.table
        file += blocks
        file.append(0x3B)
        return file
    }

    /// Little-endian.
    private static func bytes(of number: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }
}

extension PixelBuffer {
    /// Returns the image with every pixel opaque or transparent: those with at least half alpha are blended over
    /// `background`.
    func withoutTranslucency(over background: Color, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        guard !isOpaque else { return self }
        var output = try MutablePixelBuffer(width: width, height: height)
        let stride = output.bytesPerRow
        let (red, green, blue) = background.opaqueBytes
        var areAllOpaque = true
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            try size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows {
                    let source = address(of: PixelArea(size), row: row)
                    cwi_flatten(source, destination + row * stride, width, red, green, blue)
                    let isOpaque = cwi_cut_alpha(source, destination + row * stride, width)
                    areAllOpaque = areAllOpaque && isOpaque
                }
            }
        }
        return output.freeze(isOpaque: areAllOpaque)
    }
}
