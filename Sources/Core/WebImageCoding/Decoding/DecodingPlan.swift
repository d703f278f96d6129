public import WebImageCore

/// The steps from the stored pixels of one image to the result: target size, color conversion, orientation.
///
///     file ─ decode ─▶ stored pixels ─ resample ─▶ target size ─ convert colors ─▶ sRGB ─ rotate ─▶ upright
///
/// Color conversion and rotation come last because there are fewest pixels then.
package struct DecodingPlan: Sendable {
    /// The size in the file.
    package let storedSize: PixelSize
    package let orientation: ImageOrientation
    /// The part to decode, as it is stored; `nil` for all. Only decoders that are ``RegionDecoder`` get one.
    package let region: PixelRect?
    /// The size of the result before rotation.
    package let targetSize: PixelSize
    /// The conversion from the file's colors to sRGB.
    let colors: ColorConversion
    package var options: DecodingOptions

    /// Above this, in bytes, a slower way of decoding is taken that needs less, if there is one.
    static let memoryForSpeed = 512 << 20

    /// Throws ``WebImageError/LimitFailure/pixels(size:limit:)`` before anything is allocated.
    ///
    /// - Parameter colors: evaluated only for images within the limits; a profile can take lcms2 tens of milliseconds.
    package init(
        storedSize: PixelSize, orientation: ImageOrientation = .up,
        colors: @autoclosure () -> ColorConversion = .none, options: DecodingOptions
    ) throws(WebImageError) {
        try options.checkCancellation()
        try options.limits.check(storedSize)
        self.storedSize = storedSize
        self.orientation = orientation
        self.colors = colors()
        self.options = options
        var size = orientation.upright(storedSize)
        let part = options.region?.clamped(to: size)
        region = part.map { orientation.stored($0, in: storedSize) }
        if let part { size = part.size }
        let target = options.targetSize(of: size)
        targetSize = orientation.swapsSides ? target.transposed : target
    }

    /// The size of what is decoded, as it is stored.
    package var partSize: PixelSize { region?.size ?? storedSize }

    /// Returns the image made from `decoded`: the stored pixels of the part, or fewer if the decoder has scaled them down.
    package func image(
        of decoded: PixelBuffer, format: ImageFormat, frameCount: Int = 1
    ) throws(WebImageError) -> Image {
        let resampled = try decoded.resampled(to: targetSize, cancellation: options.cancellation)
        let converted = try colors.convertedToSRGB(resampled, cancellation: options.cancellation)
        let upright = try converted.upright(from: orientation, cancellation: options.cancellation)
        return Image(
            pixels: upright, scale: options.scale, format: format, frameCount: frameCount,
            isThumbnail: targetSize != partSize)
    }
}

// MARK: - Memory

/// One way to decode a file, and the maximum memory it takes. Each format tries its ways from the fastest to the
/// smallest.
struct DecodingRoute {
    /// The maximum memory, in bytes.
    var byteCount = 0
    /// Whether a JPEG's coefficients go to a temporary file.
    var isSpooled = false
    /// The file, if it was needed to know whether there can be one.
    var spool: UnnamedFile?
    /// Whether rows are resampled to the target size one by one, so that the whole image is never in memory.
    var resamplesRows = false
    /// The size to which libwebp scales the rows; `nil` for the stored size.
    var scaledSize: PixelSize?

    /// Returns the first of `routes` that is within the limit.
    ///
    /// - Throws: ``WebImageError/LimitFailure/memory(byteCount:limit:)`` with the memory of the smallest one.
    static func first(of routes: [DecodingRoute], within limits: DecodingLimits) throws(WebImageError) -> DecodingRoute
    {
        if let route = routes.first(where: { $0.byteCount <= limits.memoryByteCount }) { return route }
        throw .limitExceeded(
            reason: .memory(byteCount: routes.map(\.byteCount).min() ?? 0, limit: limits.memoryByteCount))
    }
}

extension DecodingLimits {
    /// Throws ``WebImageError/LimitFailure/memory(byteCount:limit:)`` if `count` is over the limit.
    public func check(memoryByteCount count: Int) throws(WebImageError) {
        if count > memoryByteCount { throw .limitExceeded(reason: .memory(byteCount: count, limit: memoryByteCount)) }
    }
}

extension DecodingOptions {
    /// Calls `body` with a share of the process's decoding memory. Blocks until the memory is free.
    ///
    /// - Parameters:
    ///   - byteCount: the maximum memory that `body` takes at a time.
    ///   - body: must not call this method again, since it could wait for itself; see ``grow(_:to:)``.
    /// - Throws: ``WebImageError/LimitFailure/memory(byteCount:limit:)``, ``WebImageError/cancelled``, and the errors
    ///   of `body`.
    func withMemory<Result>(
        _ byteCount: Int, _ body: (DecodingShare) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try limits.check(memoryByteCount: byteCount)
        let share = try budget.share(byteCount, cancellation: cancellation)
        defer { withExtendedLifetime(share) {} }
        return try body(share)
    }

    /// Calls `body` with a share of the memory that all decodes of the process may take. Blocks until the memory is free. For custom decoders.
    ///
    /// - Parameters:
    ///   - byteCount: the maximum memory that `body` takes at a time, in bytes.
    ///   - body: must not call this method again, since it could wait for itself.
    /// - Throws: ``WebImageError/LimitFailure/memory(byteCount:limit:)``, ``WebImageError/cancelled``, and the errors of `body`.
    public func withMemory<Result>(
        _ byteCount: Int, _ body: () throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try withMemory(byteCount) { (_) throws(WebImageError) in try body() }
    }

    /// Raises a share to `byteCount`.
    func grow(_ share: DecodingShare, to byteCount: Int) throws(WebImageError) {
        try limits.check(memoryByteCount: byteCount)
        share.grow(to: byteCount)
    }

    /// Returns a share for previews; `nil` if it is over the limit or does not fit now.
    func previewShare(_ byteCount: Int, hasCopy: Bool = false) -> DecodingShare? {
        byteCount <= limits.memoryByteCount ? budget.previewShare(byteCount, hasCopy: hasCopy) : nil
    }
}

extension PixelSize {
    /// The memory of the pixels, in bytes.
    public var pixelByteCount: Int { pixelCount * 4 }
}

extension DecodingPlan {
    /// The maximum memory that ``image(of:format:frameCount:)`` takes, including its input of `decodedSize`.
    package func byteCount(from decodedSize: PixelSize) -> Int {
        // The input of each step is released only after the last step.
        let stepCount =
            (decodedSize == targetSize ? 0 : 1) + (colors.copiesPixels ? 1 : 0) + (orientation == .up ? 0 : 1)
        return decodedSize.pixelByteCount + stepCount * targetSize.pixelByteCount
    }

    /// The same if rows of `inputSize` are resampled to the target size as they are decoded.
    func byteCount(resamplingRowsOf inputSize: PixelSize) -> Int {
        RowResampler.byteCount(from: inputSize, to: targetSize) + byteCount(from: targetSize)
            - targetSize.pixelByteCount
    }
}

extension DecodingOptions {
    /// Returns the encoding to convert colors from: sRGB, so that nothing is converted, if colors are kept.
    func source(_ encoding: ColorEncoding) -> ColorEncoding {
        if keepsColors, case .profile(let profile) = encoding, profile.model == .rgb { return .sRGB }
        return encoding
    }
}
