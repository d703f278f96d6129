public import FoundationEssentials
public import WebImageCore

/// Reads PNG and APNG: every colour type, bit depth and interlacing. 16 bits are rounded to 8, and alpha is multiplied in
/// as the bytes are, without linear light.
///
/// An APNG that breaks a rule of its order is a still, as in browsers. Where the picture for programs without animation
/// is no frame, the first frame takes its place.
///
/// Of a damaged file, or a damaged frame, the rows before the damage count, as ``DecodingOptions/damage`` says. A chunk whose checksum does
/// not fit is damage, unless a decoder may leave it out.
public struct PNGDecoder: ImageDecoder {
    /// Makes a decoder.
    public init() {}

    /// ``ImageFormat/png``.
    public var format: ImageFormat { .png }

    /// Hops over all chunks and counts the frames that are whole.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let header = try PNGHeader(reading: data.bytes)
        var file = PNGFile()
        file.read(data.bytes)
        let animation = APNGFile(file, data: data, orientation: header.orientation)
        let isAnimation = (animation?.parts.count ?? 0) > 1
        return ImageInfo(
            format: .png, size: header.orientation.upright(header.size), frameCount: animation?.parts.count ?? 1,
            loopCount: isAnimation ? animation?.loopCount : nil,
            frameDurations: isAnimation ? animation?.parts.map(\.duration) ?? [] : [], hasAlpha: header.hasAlpha,
            orientation: header.orientation, hasColorProfile: header.hasColorProfile,
            colorProfileName: PNGColorChunks(reading: data.bytes).profile?.name)
    }

    /// Decodes the picture and resamples it to the size wanted.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in try picture(of: data, options: options) }
    }

    private func picture(of data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let reading = try PNGReading(of: data, options: options)
        return try reading.image()
    }

    /// Hops over all chunks; frames are decoded when they are asked for.
    public func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        try PNGReading(of: data, options: options).animation
    }

    /// One that shows rows as they come, and interlaced pictures in finer and finer blocks.
    public func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { PNGIncrementalDecoder(options: $0) })
    }
}

extension PNGDecoder {
    /// Hops over the chunks up to the pixels: what tells of transparency, frames and orientation stands behind the size.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        let prefix = prefix.prefix(ImageProbe.byteLimit)
        guard prefix.count >= PNGHeader.minimumByteCount else { return nil }
        let header = try PNGHeader(reading: prefix.bytes, stopsAtPixels: true)
        return header.reachesPixels || prefix.count == ImageProbe.byteLimit ? ImageProbe(header) : nil
    }
}

extension ImageProbe {
    /// What the chunks before the pixels tell.
    init(_ header: PNGHeader) {
        self.init(
            format: .png, size: header.orientation.upright(header.size), orientation: header.orientation,
            isAnimated: header.reachesPixels || header.claimsAnimation ? header.claimsAnimation : nil,
            hasAlpha: header.hasAlpha)
    }
}

/// What is made of a file, or of its first bytes.
struct PNGReading {
    let data: Data
    let file: PNGFile
    let header: PNGHeader
    let plan: DecodingPlan

    /// - Throws: ``WebImageError/decoding(format:reason:)``, ``WebImageError/imageTooLarge(size:pixelLimit:)``,
    ///   ``WebImageError/cancelled``.
    init(of data: Data, options: DecodingOptions) throws(WebImageError) {
        var file = PNGFile()
        file.read(data.bytes)
        try self.init(of: data, file: file, options: options)
    }

    /// - Parameter file: what was read of `data`.
    init(of data: Data, file: PNGFile, options: DecodingOptions) throws(WebImageError) {
        self.data = data
        self.file = file
        header = try PNGHeader(reading: data.bytes)
        try options.limits.check(metadataByteCount: file.metadataByteCount)
        if !options.firstFrameOnly { try options.limits.check(frameCount: file.animation?.frameCount ?? 1) }
        plan = try DecodingPlan(
            storedSize: header.size, orientation: header.orientation,
            colors: PNGColorChunks(
                reading: data.bytes, profileByteLimit: options.limits.metadataByteCount
            ).conversion, options: options)
    }

    /// The frames that are whole; `nil` for a still.
    var animation: ComposedAnimation? {
        get throws(WebImageError) {
            guard let frames else { return nil }
            return try ComposedAnimation(frames, plan: plan)
        }
    }

    var frames: APNGFile? {
        APNGFile(file, data: data, orientation: header.orientation, damage: plan.options.damage)
    }

    /// The picture: that of an animation is its first frame.
    ///
    /// - Parameters:
    ///   - stream: one that has begun with the still.
    ///   - share: of the process's memory, with what `stream` takes; `nil` to wait for one.
    func image(
        goingOnWith stream: PNGStreamDecoder? = nil, share: DecodingShare? = nil
    ) throws(WebImageError) -> Image {
        if plan.options.damage == .refuse, let failure { throw failure }
        if let share { return try image(goingOnWith: stream, in: share) }
        return try plan.options.withMemory(firstByteCount) { (share) throws(WebImageError) in
            try image(goingOnWith: stream, in: share)
        }
    }

    private func image(
        goingOnWith stream: PNGStreamDecoder?, in share: DecodingShare
    ) throws(WebImageError) -> Image {
        if let image = try firstFrame() { return image }
        let frames = frames
        guard let still = file.still else { throw failure ?? .decoding(format: .png, reason: .truncated) }
        let decoded: PNGPicture.Decoded
        if stream == nil,
            let pixels = try still.resampledByRows(
                to: plan.targetSize, from: data.bytes, cancellation: plan.options.cancellation)
        {
            decoded = PNGPicture.Decoded(pixels: pixels, failure: nil)
        } else {
            let byteCount = stream == nil ? wholeByteCount(still) : byteCountWithPreviews(of: still)
            // Rows that can't be passed on are damaged; the whole image is needed only to show the good part.
            if plan.options.damage == .refuse, byteCount > plan.options.limits.memoryByteCount,
                still.mayPassRows(to: plan.targetSize)
            {
                throw .decoding(format: .png, reason: rowDamage(of: still))
            }
            try plan.options.grow(share, to: byteCount)
            decoded = try still.decoded(
                from: data.bytes, goingOnWith: stream, shortage: shortage, cancellation: plan.options.cancellation)
        }
        if plan.options.damage == .refuse, let failure = decoded.failure { throw failure }
        var image = try plan.image(of: decoded.pixels, format: .png, frameCount: frames?.parts.count ?? 1)
        image.isPartial = decoded.failure != nil || isMissingFrames
        if let frames, frames.parts.count > 1, !plan.options.firstFrameOnly {
            image.animation = try ComposedAnimation(frames, plan: plan)
        }
        return image
    }

    /// The picture of an animation that does not begin with the still; `nil` for others, and when it is damaged and the still
    /// may take its place.
    func firstFrame() throws(WebImageError) -> Image? {
        guard let frames, !frames.beginsWithStill else { return nil }
        do throws(WebImageError) {
            var image = try plan.image(of: frames)
            image.isPartial = isMissingFrames
            return image
        } catch .decoding where plan.options.damage == .showGoodPart {
            return nil
        }
    }

    /// What keeps the file from being whole.
    private var failure: WebImageError? {
        switch file.end {
        case .whole: nil
        case .missing: .decoding(format: .png, reason: .truncated)
        case .damaged(let what): .decoding(format: .png, reason: .corrupt(what))
        }
    }

    /// Why rows are missing where the data that are there are good.
    private var shortage: WebImageError.DecodingFailure {
        switch file.end {
        case .whole: .corrupt("rows are missing")
        case .missing: .truncated
        case .damaged(let what): .corrupt(what)
        }
    }

    /// Why the rows of `still` can't be passed on one by one.
    private func rowDamage(of still: PNGPicture) -> WebImageError.DecodingFailure {
        guard let chunk = still.chunks.first(where: { $0.isWhole && !$0.isIntact(in: data.bytes) }) else {
            return shortage
        }
        return .corrupt("wrong checksum of \(chunk.name.text)")
    }

    /// A still that lacks only what stands behind its pixels is complete.
    private var isMissingFrames: Bool { file.animation?.isAnimated == true && file.animation?.isComplete == false }
}

extension PNGReading {
    /// What the way to the picture takes at the most that is tried first.
    var firstByteCount: Int {
        if let frames, !frames.beginsWithStill { return plan.byteCount(ofFirstFrameOf: frames) }
        guard let still = file.still else { return 0 }
        guard still.mayPassRows(to: plan.targetSize) else { return wholeByteCount(still) }
        return still.rowByteCount + plan.byteCount(resamplingRowsOf: still.layout.size)
    }

    /// What it takes to decode the still as a whole.
    func wholeByteCount(_ still: PNGPicture) -> Int {
        still.workingByteCount + plan.byteCount(from: still.layout.size)
    }

    /// The same with previews: the rows so far, a copy of them, and the last preview, which the caller still has. In the end
    /// all may be decoded once more.
    func byteCountWithPreviews(of still: PNGPicture) -> Int {
        wholeByteCount(still) + still.layout.size.pixelByteCount + plan.targetSize.pixelByteCount
    }
}

extension PNGPicture {
    /// What decoding takes besides the pixels.
    var workingByteCount: Int { joinedByteCount + layout.workingByteCount }

    /// What the data of several chunks take, which are joined.
    var joinedByteCount: Int { chunks.count > 1 ? chunks.reduce(0) { $0 + $1.compressedBytes.count } : 0 }

    /// What passing the rows on one by one takes.
    var rowByteCount: Int {
        let rows = PNGRowConversion(self) == nil ? PNGRowReader.windowRowLimit(layout) * layout.size.width * 4 : 0
        return rows + 8 * layout.filteredRowByteCount + (1 << 20)
    }
}

extension PNGLayout {
    /// What decoding takes besides the pixels and the joined data: filtered rows have a byte more each.
    var workingByteCount: Int { size.height + 4 * filteredRowByteCount + (1 << 20) }

    /// Of a row, with the byte that names its filter.
    fileprivate var filteredRowByteCount: Int { (size.width * bitsPerPixel + 7) / 8 + 1 }
}
