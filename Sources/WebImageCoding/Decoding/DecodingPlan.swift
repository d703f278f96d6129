internal import WebImageCore

/// What one picture goes through: which size its stored pixels get, how they become sRGB, and which turn follows.
///
///     file ─ decode ─▶ stored pixels ─ resample ─▶ target size ─ convert colours ─▶ sRGB, still lying ─ turn ─▶ upright
///
/// Colours and turn come last, where there are fewest pixels left.
struct DecodingPlan {
    /// As in the file.
    let storedSize: PixelSize
    let orientation: ImageOrientation
    /// What comes out, before it is turned upright.
    let targetSize: PixelSize
    /// The way from the file's colours to sRGB.
    let colors: ColorConversion
    var options: DecodingOptions

    /// Throws ``WebImageError/imageTooLarge(size:pixelLimit:)`` before anything is allocated.
    ///
    /// - Parameter colors: found only for a picture within the limits; a profile can take lcms2 tens of milliseconds.
    init(
        storedSize: PixelSize, orientation: ImageOrientation = .up,
        colors: @autoclosure () -> ColorConversion = .none, options: DecodingOptions
    ) throws(WebImageError) {
        try options.checkCancellation()
        try options.limits.check(storedSize)
        self.storedSize = storedSize
        self.orientation = orientation
        self.colors = colors()
        self.options = options
        let uprightSize = orientation.upright(storedSize)
        var target = options.thumbnail?.targetSize(of: uprightSize) ?? uprightSize
        if let byteLimit = options.byteLimit { target = target.scaledDown(toPixelCount: byteLimit / 4) }
        targetSize = orientation.swapsSides ? target.transposed : target
    }

    /// The picture made of `decoded`: stored pixels, or fewer if the decoder has scaled them down on its way.
    func image(of decoded: PixelBuffer, format: ImageFormat, frameCount: Int = 1) throws(WebImageError) -> Image {
        let resampled = try decoded.resampled(to: targetSize, cancellation: options.cancellation)
        let converted = try colors.convertedToSRGB(resampled, cancellation: options.cancellation)
        let upright = try converted.upright(from: orientation, cancellation: options.cancellation)
        return Image(
            pixels: upright, scale: options.scale, format: format, frameCount: frameCount,
            isThumbnail: targetSize != storedSize)
    }
}

extension DecodingLimits {
    /// Throws ``WebImageError/decodingMemoryExceeded(byteCount:limit:)`` if a decode that takes so much at the most is over
    /// the limit.
    func check(memoryByteCount count: Int) throws(WebImageError) {
        if count > memoryByteCount { throw .decodingMemoryExceeded(byteCount: count, limit: memoryByteCount) }
    }
}

extension DecodingOptions {
    /// Calls `body` once the process has so much memory for it, and counts that until `body` returns. Blocks meanwhile.
    ///
    /// - Parameters:
    ///   - byteCount: the most that `body` takes at a time.
    ///   - body: must not ask for memory in this way again, since it could then wait for itself. What it turns out to need
    ///     besides it adds to the share that it gets: see ``grow(_:to:)``.
    /// - Throws: ``WebImageError/decodingMemoryExceeded(byteCount:limit:)``, ``WebImageError/cancelled``, and what `body`
    ///   throws.
    func withMemory<Result>(
        _ byteCount: Int, _ body: (DecodingShare) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try limits.check(memoryByteCount: byteCount)
        let share = try budget.share(byteCount, cancellation: cancellation)
        defer { withExtendedLifetime(share) {} }
        return try body(share)
    }

    /// Counts `byteCount` in all for the decode that has `share`.
    ///
    /// - Throws: ``WebImageError/decodingMemoryExceeded(byteCount:limit:)``.
    func grow(_ share: DecodingShare, to byteCount: Int) throws(WebImageError) {
        try limits.check(memoryByteCount: byteCount)
        share.grow(to: byteCount)
    }
}

extension PixelSize {
    /// What the pixels take, in bytes.
    var pixelByteCount: Int { pixelCount * 4 }
}

extension DecodingPlan {
    /// The most that ``image(of:format:frameCount:)`` holds at a time, with the pixels that it gets.
    ///
    /// - Parameter decodedSize: that of those pixels.
    func byteCount(from decodedSize: PixelSize) -> Int {
        // Each step's input goes only when the last step is done.
        let stepCount =
            (decodedSize == targetSize ? 0 : 1) + (colors.copiesPixels ? 1 : 0) + (orientation == .up ? 0 : 1)
        return decodedSize.pixelByteCount + stepCount * targetSize.pixelByteCount
    }

    /// The same for pixels that have the target's size when they come out of a resampler, with what that takes before.
    ///
    /// - Parameter inputSize: that of the rows that it gets.
    func byteCount(resamplingRowsOf inputSize: PixelSize) -> Int {
        RowResampler.byteCount(from: inputSize, to: targetSize) + byteCount(from: targetSize)
            - targetSize.pixelByteCount
    }

    /// The most that showing frames of an animation takes: the canvas, a copy of it that somebody still has, the largest part
    /// and what decoding it takes, and what becomes of the canvas.
    func byteCount(of file: some AnimationFile) -> Int {
        let part = file.parts.reduce(0) { max($0, $1.size.pixelByteCount + file.workingByteCount(of: $1.size)) }
        return part + file.canvasSize.pixelByteCount + byteCount(from: file.canvasSize)
    }

    /// The same for the first frame alone, whose pixels are the canvas if they cover it.
    ///
    /// - Parameter workingByteCount: what decoding it takes besides its pixels.
    func byteCount(ofFirst part: FramePart, on canvasSize: PixelSize, workingByteCount: Int) -> Int {
        workingByteCount + byteCount(from: canvasSize)
            + (part.covers(canvasSize) ? 0 : part.size.pixelByteCount)
    }

    /// The same for the first frame of `file`.
    func byteCount(ofFirstFrameOf file: some AnimationFile) -> Int {
        guard let part = file.parts.first else { return 0 }
        return byteCount(
            ofFirst: part, on: file.canvasSize, workingByteCount: file.workingByteCount(of: part.size))
    }
}
