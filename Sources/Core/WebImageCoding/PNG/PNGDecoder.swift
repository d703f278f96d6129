package import FoundationEssentials
package import WebImageCore

/// Decodes PNG and APNG: every color type, bit depth and interlacing. 16 bits are rounded to 8 if they are sRGB, and else
/// converted as a whole; alpha is premultiplied without linear light.
///
/// An APNG that breaks a rule of its order is a still image, as in browsers. If the default image is not a frame, the
/// first frame replaces it.
///
/// Of a damaged file or frame, the rows before the damage are decoded: see ``DecodingOptions/allowsDamage``. A wrong
/// checksum is damage, except in chunks that a decoder may skip.
package struct PNGDecoder: OwnDecoder, RegionDecoder {
    package init() {}

    package var format: ImageFormat { .png }

    package func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let header = try PNGHeader(reading: data.bytes)
        var file = PNGFile()
        file.read(data.bytes)
        let animation = APNGFile(file, data: data, orientation: header.orientation)
        let isAnimation = (animation?.parts.count ?? 0) > 1
        var info = ImageInfo(
            format: .png, size: header.orientation.upright(header.size), frameCount: animation?.parts.count ?? 1,
            loopCount: isAnimation ? animation?.loopCount : nil,
            frames: isAnimation ? animation?.parts.frames(on: header.size) ?? [] : [], hasAlpha: header.hasAlpha,
            orientation: header.orientation, hasColorProfile: header.hasColorProfile,
            colorProfileName: header.colors.profile(in: data.bytes)?.name)
        info.bitDepth = header.bitDepth
        info.isHDR = header.colors.isHDR
        return info
    }

    /// Reads the chunks up to the pixels: transparency, frames and orientation follow the size.
    package func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        let prefix = prefix.prefix(ImageProbe.byteLimit)
        guard prefix.count >= PNGHeader.minimumByteCount else { return nil }
        let header = try PNGHeader(reading: prefix.bytes, stopsAtPixels: true)
        guard header.reachesPixels || prefix.count == ImageProbe.byteLimit else { return nil }
        return ImageProbe(
            format: .png, size: header.orientation.upright(header.size), orientation: header.orientation,
            isAnimated: header.reachesPixels || header.claimsAnimation ? header.claimsAnimation : nil,
            hasAlpha: header.hasAlpha)
    }

    package func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in
            if options.region != nil, try !PNGReading(of: data, options: options).canDecodeRegion {
                return try decodeWholeAndCrop(data, options: options)
            }
            return try PNGReading(of: data, options: options).image()
        }
    }

    package func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        try PNGReading(of: data, options: options).animation
    }

    /// Shows rows as they arrive, and interlaced images in finer and finer blocks.
    package func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { PNGIncrementalDecoder(options: $0) })
    }
}

/// Decodes a file, or its first bytes.
final class PNGReading {
    let data: Data
    let file: PNGFile
    let header: PNGHeader
    let plan: DecodingPlan

    convenience init(of data: Data, options: DecodingOptions) throws(WebImageError) {
        var file = PNGFile()
        file.read(data.bytes)
        try self.init(of: data, file: file, options: options)
    }

    /// - Parameter file: the chunks of `data`.
    init(of data: Data, file: PNGFile, options: DecodingOptions) throws(WebImageError) {
        self.data = data
        let header = try PNGHeader(reading: data.bytes)
        self.header = header
        try options.limits.check(metadataByteCount: file.metadataByteCount)
        if !options.firstFrameOnly { try options.limits.check(frameCount: file.animation?.frames.count ?? 1) }
        var file = file
        try options.limits.check(header.size)
        try options.checkRegion(in: header.orientation.upright(header.size), of: .png)
        if header.bitDepth == 16,
            let conversion = header.colors.deepConversion(in: data.bytes, options: options)
        {
            file.convert(by: conversion)
        }
        self.file = file
        // Rows of 16 bits are converted as they are decoded.
        let isConverted = file.still?.deepConversion != nil
        plan = try DecodingPlan(
            storedSize: header.size, orientation: header.orientation,
            colors: isConverted
                ? .none : header.colors.conversion(in: data.bytes, options: options),
            options: options)
    }

    /// The complete frames; `nil` for a still image.
    var animation: ComposedAnimation? {
        get throws(WebImageError) {
            guard let frames else { return nil }
            return try ComposedAnimation(frames, plan: plan)
        }
    }

    var frames: APNGFile? {
        APNGFile(file, data: data, orientation: header.orientation, allowsDamage: plan.options.allowsDamage)
    }

    /// Returns the image; of an animation, its first frame.
    ///
    /// - Parameters:
    ///   - stream: one that has decoded a part of the default image.
    ///   - share: memory that includes that of `stream`; `nil` to wait for memory.
    func image(
        continuing stream: PNGStreamDecoder? = nil, share: DecodingShare? = nil
    ) throws(WebImageError) -> Image {
        if !plan.options.allowsDamage, let failure, !hasRequestedFrame { throw failure }
        if let share { return try image(continuing: stream, in: share) }
        return try plan.options.withMemory(firstByteCount) { (share) throws(WebImageError) in
            try image(continuing: stream, in: share)
        }
    }

    private func image(
        continuing stream: PNGStreamDecoder?, in share: DecodingShare
    ) throws(WebImageError) -> Image {
        if let image = try firstFrame() { return image }
        let frames = frames
        guard let still = file.still else { throw failure ?? .decoding(format: .png, reason: .truncated) }
        let decoded: PNGImage.Decoded
        if stream == nil,
            let pixels = try still.resampledByRows(
                to: plan.targetSize, region: plan.region, from: data.bytes, cancellation: plan.options.cancellation)
        {
            decoded = PNGImage.Decoded(pixels: pixels, failure: nil)
        } else {
            let byteCount = stream == nil ? wholeByteCount(still) : byteCountWithPreviews(of: still)
            // If rows cannot be resampled one by one, they are damaged. The whole image is needed only to show the good
            // part.
            if !plan.options.allowsDamage, byteCount > plan.options.limits.memoryByteCount,
                still.canResampleRows(to: plan.targetSize, region: plan.region)
            {
                throw .decoding(format: .png, reason: rowDamage(of: still))
            }
            try plan.options.grow(share, to: byteCount)
            let whole = try still.decoded(
                from: data.bytes, continuing: stream, missingRows: missingRows, cancellation: plan.options.cancellation)
            let part = try plan.region.flatMap { (region) throws(WebImageError) in try whole.pixels.cropped(to: region)
            }
            decoded = PNGImage.Decoded(pixels: part ?? whole.pixels, failure: whole.failure)
        }
        if !plan.options.allowsDamage, let failure = decoded.failure { throw failure }
        var image = try plan.image(of: decoded.pixels, format: .png, frameCount: frames?.parts.count ?? 1)
        image.isPartial = decoded.failure != nil || isMissingFrames
        if let frames, frames.parts.count > 1, !plan.options.firstFrameOnly {
            image.animation = try ComposedAnimation(frames, plan: plan)
        }
        return image
    }

    /// Returns the first frame of an animation whose default image is not a frame. `nil` for others, and if the frame is
    /// damaged and the default image may replace it.
    func firstFrame() throws(WebImageError) -> Image? {
        guard let frames, !frames.beginsWithStill else { return nil }
        do throws(WebImageError) {
            var image = try plan.image(of: frames)
            image.isPartial = isMissingFrames
            return image
        } catch .decoding where plan.options.allowsDamage {
            return nil
        }
    }

    /// Whether rows of a region can be decoded one by one: of a still image that is not interlaced.
    var canDecodeRegion: Bool { frames == nil && file.still?.layout.isInterlaced == false }

    /// Whether the file has the one frame of an animation that is requested, so that damage behind it does not matter.
    private var hasRequestedFrame: Bool { plan.options.firstFrameOnly && frames != nil }

    /// Why the file is incomplete or damaged.
    private var failure: WebImageError? {
        switch file.end {
        case .whole: nil
        case .missing: .decoding(format: .png, reason: .truncated)
        case .damaged(let what): .decoding(format: .png, reason: .corrupt(what))
        }
    }

    /// Why rows are missing although the data so far are good.
    private var missingRows: WebImageError.DecodingFailure {
        switch file.end {
        case .whole: .corrupt("rows are missing")
        case .missing: .truncated
        case .damaged(let what): .corrupt(what)
        }
    }

    /// Why the rows of `still` cannot be resampled one by one.
    private func rowDamage(of still: PNGImage) -> WebImageError.DecodingFailure {
        guard let chunk = still.chunks.first(where: { $0.isWhole && !$0.isIntact(in: data.bytes) }) else {
            return missingRows
        }
        return .corrupt("wrong checksum of \(chunk.name.text)")
    }

    /// A still image that lacks only what follows its pixels is complete.
    private var isMissingFrames: Bool { file.animation?.isAnimated == true && file.animation?.isComplete == false }

    // MARK: - Memory

    /// The maximum memory of the way that is tried first.
    var firstByteCount: Int {
        if let frames, !frames.beginsWithStill { return plan.byteCount(ofFirstFrameOf: frames) }
        guard let still = file.still else { return 0 }
        guard still.canResampleRows(to: plan.targetSize, region: plan.region) else { return wholeByteCount(still) }
        return still.rowByteCount + plan.byteCount(resamplingRowsOf: plan.partSize)
    }

    private func wholeByteCount(_ still: PNGImage) -> Int {
        still.workingByteCount + plan.byteCount(from: still.layout.size)
    }

    /// The memory with previews: the rows, a copy of them, and the last preview, which the caller still holds. At the
    /// end the whole image may be decoded again.
    func byteCountWithPreviews(of still: PNGImage) -> Int {
        wholeByteCount(still) + still.layout.size.pixelByteCount + plan.targetSize.pixelByteCount
    }
}

extension PNGImage {
    /// The memory of decoding besides the pixels.
    var workingByteCount: Int {
        joinedByteCount + layout.workingByteCount + (deepConversion == nil ? 0 : layout.deepByteCount)
    }

    /// The memory of joining the data of several chunks.
    var joinedByteCount: Int { chunks.count > 1 ? chunks.reduce(0) { $0 + $1.compressedBytes.count } : 0 }

    /// The memory of decoding row by row.
    var rowByteCount: Int {
        let pixel = deepConversion == nil ? 4 : 8
        let rows = PNGRowReader.windowRowLimit(layout) * layout.size.width * pixel
        return rows + 8 * layout.filteredRowByteCount + (1 << 20)
    }
}

extension PNGLayout {
    /// The memory of decoding besides the pixels and the joined data: filtered rows have one byte more each.
    var workingByteCount: Int { size.height + 4 * filteredRowByteCount + (1 << 20) }

    /// The memory of pixels of 16 bits.
    var deepByteCount: Int { size.pixelByteCount * 2 }

    /// The length of a row, including its filter byte.
    fileprivate var filteredRowByteCount: Int { (size.width * bitsPerPixel + 7) / 8 + 1 }
}
