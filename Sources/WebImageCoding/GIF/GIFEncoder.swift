internal import CWebImageKernels
public import FoundationEssentials
public import WebImageCore

/// Writes GIF: stills and animations, with palettes of its own making, as ``EncodingOptions/gif`` says.
///
/// A frame of at most 256 colours keeps every one. A pixel is there or not: those of an alpha of at least a half are laid
/// over ``EncodingOptions/background``, the others are clear. Times are multiples of 10 ms, from 20 ms (players take less for
/// 100 ms) to 655.35 s.
public struct GIFEncoder: AnimationEncoder {
    /// Makes an encoder.
    public init() {}

    /// ``ImageFormat/gif``.
    public var format: ImageFormat { .gif }

    /// `false`.
    public func usesQuality(_ options: EncodingOptions) -> Bool { false }

    /// Encodes the picture.
    public func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        var animation = EncodableAnimation()
        animation.append(Image(pixels: image.pixels), duration: 0)
        return try encode(animation, options: options)
    }

    /// Encodes the frames; see ``EncodingOptions/framing``.
    public func encode(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        var global: GIFPalette?
        if options.gif.palette == .global, animation.frames.count > 1 {
            var histogram = ColorHistogram()
            try forEachPatch(of: animation, options: options) { (patch) throws(WebImageError) in
                let content = try content(of: patch, options: options, mayHaveHoles: true)
                try histogram.add(content, cancellation: options.cancellation)
            }
            global = GIFPalette(for: histogram, limit: options.gif.colorLimit, mayHaveHoles: true)
        }
        var clock = FrameClock(unitsPerSecond: 100, minimum: 2, maximum: 0xFFFF)
        var mapper = global.map { PaletteMapper($0, dithering: options.gif.dithering) }
        var writer: GIFFileWriter?
        var index = 0
        let isAnimation = animation.frames.count > 1
        try forEachPatch(of: animation, options: options) { (patch) throws(WebImageError) in
            let mayHaveHoles = options.gif.palette == .perFrame || global?.transparentIndex != nil
            let content = try content(of: patch, options: options, mayHaveHoles: mayHaveHoles)
            var own: GIFPalette?
            if options.gif.palette == .perFrame || !isAnimation {
                var histogram = ColorHistogram()
                try histogram.add(content, cancellation: options.cancellation)
                if global?.holds(histogram) != true {
                    let palette = GIFPalette(
                        for: histogram, limit: options.gif.colorLimit, mayHaveHoles: isAnimation && index == 0)
                    if global == nil { global = palette } else { own = palette }
                    mapper = PaletteMapper(palette, dithering: options.gif.dithering)
                } else if let global {
                    mapper = PaletteMapper(global, dithering: options.gif.dithering)
                }
            }
            guard let palette = own ?? global,
                let indices = try mapper?.indices(of: content, cancellation: options.cancellation)
            else { throw .encoding(format: .gif, reason: .noFrames) }
            let codes = try LZWEncoder.packed(
                indices, minimumCodeSize: max(2, palette.bitCount), cancellation: options.cancellation)
            if writer == nil {
                let size = patch.frame.size
                writer = GIFFileWriter(
                    size: (size.width, size.height), palette: palette,
                    loopCount: isAnimation ? animation.loopCount : nil)
            }
            writer?.append(
                patch.area, ownPalette: own, transparentIndex: content.isOpaque ? nil : palette.transparentIndex,
                hundredths: isAnimation ? clock.units(for: animation.frames[index].duration) : 0,
                disposal: patch.disposal, codes: codes)
            index += 1
        }
        guard var writer else { throw .encoding(format: .gif, reason: .noFrames) }
        return writer.finish()
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

    /// The pixels to be written, opaque or clear: unchanged ones are left out if some pixels may be, unless only that
    /// takes one colour more than there can be.
    private func content(
        of patch: FramePatch, options: EncodingOptions, mayHaveHoles: Bool
    ) throws(WebImageError) -> PixelBuffer {
        let whole =
            patch.area == PixelArea(patch.frame.size)
            ? patch.frame : try patch.frame.cropped(to: patch.area, cancellation: options.cancellation)
        guard let changes = try patch.changes(cancellation: options.cancellation) else { return whole }
        guard whole.isOpaque else { return changes }
        guard mayHaveHoles else { return whole }
        var histogram = ColorHistogram()
        try histogram.add(changes, cancellation: options.cancellation)
        guard histogram.hasClearPixels else { return whole }
        return histogram.exact?.colors.count == options.gif.colorLimit ? whole : changes
    }
}

extension PixelBuffer {
    /// The same with every pixel opaque or clear: those that are half there or more are laid over `background`.
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
