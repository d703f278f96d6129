internal import FoundationEssentials
internal import WebImageCore

/// A GIF in the making: gives each patch its palette and its indices.
///
///     patch ─▶ content: opaque or clear pixels ─▶ its own palette, or the file's ─▶ indices ─▶ LZW codes
struct GIFEncoding {
    private let animation: EncodableAnimation
    private let options: EncodingOptions
    private let isAnimation: Bool
    /// Of all frames, where they share a palette.
    private var histogram = ColorHistogram()
    /// That of the file: of all frames, or of the first and those whose colours there was room for.
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

    /// Whether ``countColors(of:)`` has to see every patch, and ``choosePalette()`` be called, before any is written.
    var hasOnePalette: Bool { isAnimation && options.gif.palette == .global }

    mutating func countColors(of patch: FramePatch) throws(WebImageError) {
        try histogram.add(content(of: patch, mayHaveHoles: true), cancellation: options.cancellation)
    }

    mutating func choosePalette() { usePalette(for: histogram) }

    mutating func append(_ patch: FramePatch) throws(WebImageError) {
        let content = try content(of: patch, mayHaveHoles: !hasOnePalette || palette?.transparentIndex != nil)
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

    mutating func finish() throws(WebImageError) -> Data {
        guard let writer, let palette else { throw Self.noFrames }
        return writer.finish(palette: palette)
    }

    /// The palette of a frame for which the file's does not do; the first frame's becomes the file's, and grows as long as it
    /// has every colour of the frames that use it.
    private mutating func ownPalette(
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
        if let extended = shared.extended(for: histogram, limit: options.gif.colorLimit) {
            palette = extended
            mapper = PaletteMapper(extended, dithering: options.gif.dithering)
            return nil
        }
        let own = GIFPalette(for: histogram, limit: options.gif.colorLimit, mayHaveHoles: false)
        return (own, PaletteMapper(own, dithering: options.gif.dithering))
    }

    private mutating func usePalette(for histogram: ColorHistogram) {
        let palette = GIFPalette(for: histogram, limit: options.gif.colorLimit, mayHaveHoles: isAnimation)
        self.palette = palette
        mapper = PaletteMapper(palette, dithering: options.gif.dithering)
    }

    /// The pixels to be written, opaque or clear: unchanged ones are left out if some pixels may be, unless only that
    /// takes one colour more than there can be.
    private func content(of patch: FramePatch, mayHaveHoles: Bool) throws(WebImageError) -> PixelBuffer {
        let isWhole = patch.area == PixelArea(patch.frame.size)
        let whole =
            isWhole ? patch.frame : try patch.frame.cropped(to: patch.area, cancellation: options.cancellation)
        guard let changes = try patch.changes(cancellation: options.cancellation) else { return whole }
        guard whole.isOpaque else { return changes }
        guard mayHaveHoles else { return whole }
        var histogram = ColorHistogram()
        try histogram.add(changes, cancellation: options.cancellation)
        guard histogram.hasClearPixels else { return whole }
        return histogram.exact?.colors.count == options.gif.colorLimit ? whole : changes
    }

    private static let noFrames = WebImageError.encoding(format: .gif, reason: .noFrames)
}
