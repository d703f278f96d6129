internal import CWebImageWebP
internal import FoundationEssentials
internal import WebImageCore

/// Decodes WebP with libwebp: lossy and lossless, with and without alpha, animated.
///
/// Of a truncated file it decodes the rows that are there, of an animation the complete frames, and of a damaged frame
/// the good rows. If the first frame is damaged, the result is a still image of its good rows.
struct WebPDecoder: OwnDecoder {
    init() {}

    var format: ImageFormat { .webp }

    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let file = try WebPFile(reading: data.bytes)
        let isAnimation = file.frames.count > 1
        return ImageInfo(
            format: .webp, size: file.orientation.upright(file.size), frameCount: max(1, file.frames.count),
            loopCount: isAnimation ? file.loopCount : nil,
            frames: isAnimation ? file.parts.frames(on: file.size) : [], hasAlpha: file.hasAlpha,
            orientation: file.orientation, hasColorProfile: file.hasColorProfile,
            colorProfileName: file.colorProfile(in: data.bytes)?.name)
    }

    func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        do throws(WebImageError) {
            return ImageProbe(try WebPFile(reading: prefix.prefix(ImageProbe.byteLimit).bytes))
        } catch .decoding(_, .truncated, _) {
            return nil
        }
    }

    /// Decodes and resamples; large images are resampled row by row. libwebp's own scaling is no faster and coarser, so
    /// it is used only if memory is short.
    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in
            let (file, plan) = try read(data, options: options)
            var image = try image(of: file, in: data, plan: plan)
            if !file.isComplete(at: data.count) { image.isPartial = true }
            return image
        }
    }

    private func read(
        _ data: Data, options: DecodingOptions
    ) throws(WebImageError) -> (file: WebPFile, plan: DecodingPlan) {
        let file = try WebPFile(reading: data.bytes, frameLimit: options.limits.frameCount)
        let plan = try DecodingPlan(file, in: data.bytes, options: options)
        if !file.isComplete(at: data.count) {
            // Damage behind the first frame is no reason to refuse it, if it alone is requested.
            let isEnough = options.firstFrameOnly && !file.frames.isEmpty
            if !options.allowsDamage, !isEnough { throw .decoding(format: .webp, reason: .truncated) }
        } else if file.isAnimation, file.frames.isEmpty {
            throw .decoding(format: .webp, reason: .corrupt("an animation without a complete frame"))
        }
        return (file, plan)
    }

    private func image(of file: WebPFile, in data: Data, plan: DecodingPlan) throws(WebImageError) -> Image {
        if !file.frames.isEmpty {
            let animation = WebPAnimationFile(file, in: data, options: plan.options)
            do throws(WebImageError) {
                return try plan.options.withMemory(plan.byteCount(ofFirstFrameOf: animation)) {
                    (_) throws(WebImageError) in
                    try plan.image(of: animation)
                }
            } catch .decoding where plan.options.allowsDamage {
                // The first frame is damaged; its good rows are decoded below.
            }
        }
        // The first frame of an animation can be anywhere on the canvas, which is resampled as a whole.
        let route =
            file.isAnimation
            ? DecodingRoute(byteCount: plan.byteCount(ofFirstFrameOf: file)) : try plan.route(for: file)
        return try plan.options.withMemory(route.byteCount) { (_) throws(WebImageError) in
            try firstImage(of: file, in: data, plan: plan, route)
        }
    }

    private func firstImage(
        of file: WebPFile, in data: Data, plan: DecodingPlan, _ route: DecodingRoute
    ) throws(WebImageError) -> Image {
        let options = plan.options
        func decoder(usesThread: Bool) throws(WebImageError) -> WebPImageDecoder {
            let decoder = try file.makeFirstImageDecoder(
                options, resampledTo: route.resamplesRows ? plan.targetSize : nil, scaledTo: route.scaledSize,
                usesThread: usesThread)
            try file.withFirstImage(in: data.bytes) { (bytes) throws(WebImageError) in
                try decoder.decode(bytes, cancellation: options.cancellation)
            }
            return decoder
        }
        let usesThread =
            file.firstPart.size.pixelCount >= Self.sharedPixelCount
            && DecodingQueue.threadCount(forEachOf: options.budget.decodeCount) > 1
        let started: WebPImageDecoder
        do throws(WebImageError) {
            started = try decoder(usesThread: usesThread)
        } catch .outOfResources where usesThread {
            // Perhaps no thread can be started.
            started = try decoder(usesThread: false)
        }
        let (pixels, isPartial) = try started.finish(
            allowsDamage: options.allowsDamage, cancellation: options.cancellation)
        let isScaled = route.resamplesRows || route.scaledSize != nil
        let canvas = isScaled ? pixels : try file.canvas(with: pixels, options: options)
        var image = try plan.image(of: canvas, format: .webp, frameCount: max(1, file.frames.count))
        image.isPartial = isPartial
        return image
    }

    /// From this many pixels on, a second thread filters and converts the rows of a lossy image: starting it takes about 50 µs.
    private static let sharedPixelCount = 1 << 18

    /// Returns the complete frames of a file with several.
    func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        let (file, plan) = try read(data, options: options)
        return file.frames.count > 1
            ? try ComposedAnimation(WebPAnimationFile(file, in: data, options: options), plan: plan) : nil
    }

    /// Shows rows and complete frames as they arrive. The orientation is at the end of a file, so previews are not
    /// rotated, and the sides of the final image may be swapped.
    func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { WebPIncrementalDecoder(options: $0) })
    }
}

extension ImageProbe {
    init(_ file: WebPFile) {
        self.init(
            format: .webp, size: file.orientation.upright(file.size), orientation: file.orientation,
            isAnimated: file.isAnimation, hasAlpha: file.hasAlpha)
    }
}

/// The complete frames of an animated WebP.
struct WebPAnimationFile: AnimationFile {
    private let file: WebPFile
    private let data: Data
    let parts: [FramePart]
    let orientation: ImageOrientation
    private let options: DecodingOptions

    /// - Parameter data: the bytes that `file` was read from.
    init(_ file: WebPFile, in data: Data, options: DecodingOptions) {
        self.file = file
        self.data = data
        parts = file.parts
        orientation = file.orientation
        var options = options
        options.cancellation = nil
        self.options = options
    }

    var format: ImageFormat { .webp }
    var canvasSize: PixelSize { file.size }
    var loopCount: Int { file.loopCount ?? 0 }
    var isComplete: Bool { file.isComplete(at: data.count) }
    var byteCount: Int { data.count }

    /// Any frame may be lossless.
    func workingByteCount(of size: PixelSize) -> Int {
        WebPImageDecoder.workingByteCount(of: size, isLossless: true, hasAlpha: false)
    }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        let content = file.frames[index].content
        let decoder = try WebPImageDecoder(size: parts[index].size, byteCount: content.count, options: options)
        try data.bytes.extracting(content).withUnsafeBytes { (bytes) throws(WebImageError) in
            try decoder.decode(bytes, cancellation: cancellation)
        }
        // A file with a damaged first frame becomes a still image: see ``WebPDecoder``.
        return try decoder.finish(allowsDamage: index != 0 && options.allowsDamage, cancellation: cancellation).pixels
    }
}

extension WebPFile {
    var parts: [FramePart] { frames.map(\.part) }

    /// The position of the first image on the canvas: all of it, except in an animation.
    var firstPart: FramePart {
        let whole = FramePart(
            left: 0, top: 0, size: size, duration: .zero, blend: .source, disposal: .keep, isOpaque: !hasAlpha)
        return firstFrame?.part ?? whole
    }

    /// The first frame of an animation, once its header has arrived.
    private var firstFrame: Frame? { isAnimation ? frames.first ?? nextFrame : nil }

    func makeFirstImageDecoder(
        _ options: DecodingOptions, resampledTo targetSize: PixelSize? = nil, scaledTo scaledSize: PixelSize? = nil,
        usesThread: Bool = false
    ) throws(WebImageError) -> WebPImageDecoder {
        try WebPImageDecoder(
            size: firstPart.size, byteCount: firstFrame?.content.count ?? announcedByteCount, options: options,
            resampledTo: targetSize, scaledTo: scaledSize, usesThread: usesThread)
    }

    /// Calls `body` with the bytes of the first image so far: the whole file, or the first frame's chunks.
    func withFirstImage(
        in data: RawSpan, _ body: (UnsafeRawBufferPointer) throws(WebImageError) -> Void
    ) throws(WebImageError) {
        guard isAnimation else {
            // Without the bytes after the announced end, which libwebp might read, depending on the pieces.
            return try data.extracting(0..<min(data.byteCount, announcedByteCount)).withUnsafeBytes(body)
        }
        guard let content = firstFrame?.content, content.lowerBound < data.byteCount else { return }
        try data.extracting(content.clamped(to: 0..<data.byteCount)).withUnsafeBytes(body)
    }

    /// Returns the canvas with the first image on it, transparent around it.
    func canvas(with pixels: PixelBuffer, options: DecodingOptions) throws(WebImageError) -> PixelBuffer {
        guard pixels.size != size else { return pixels }
        var canvas = try MutablePixelBuffer(width: size.width, height: size.height)
        try canvas.clear(cancellation: options.cancellation)
        try canvas.draw(pixels, of: firstPart, cancellation: options.cancellation)
        return canvas.freeze(isOpaque: false)
    }
}

extension DecodingPlan {
    /// The plan for the canvas of a WebP.
    init(_ file: WebPFile, in data: RawSpan, options: DecodingOptions) throws(WebImageError) {
        try options.limits.check(metadataByteCount: file.metadataByteCount)
        try self.init(
            storedSize: file.size, orientation: file.orientation,
            colors: ColorConversion(from: options.source(file.colorEncoding(in: data))),
            options: options)
    }

    /// Returns the way to decode a still image with the best quality within the memory limit.
    func route(for file: WebPFile) throws(WebImageError) -> DecodingRoute {
        let working = WebPImageDecoder.workingByteCount(
            of: file.size, isLossless: file.isLossless, hasAlpha: file.hasAlpha)
        let isResampled = targetSize != file.size
        var first = DecodingRoute(byteCount: working + byteCount(from: file.size))
        if isResampled, file.size.pixelByteCount > Self.pooledByteCount {
            first.resamplesRows = true
            // All rows may come at once: a few bytes can encode them.
            first.byteCount = working + file.size.pixelByteCount + byteCount(resamplingRowsOf: file.size)
        }
        let scaled = (isResampled ? [2, 1] : []).map { factor in
            let size = PixelSize(
                width: min(targetSize.width * factor, file.size.width),
                height: min(targetSize.height * factor, file.size.height))
            // libwebp keeps a row of sums for each output row.
            return DecodingRoute(byteCount: working + byteCount(from: size) + size.width * 64, scaledSize: size)
        }
        return try DecodingRoute.first(of: [first] + scaled, within: options.limits)
    }

    /// The memory to decode the first frame of `file`, complete or not.
    fileprivate func byteCount(ofFirstFrameOf file: WebPFile) -> Int {
        byteCount(
            ofFirst: file.firstPart, on: file.size,
            workingByteCount: WebPImageDecoder.workingByteCount(
                of: file.firstPart.size, isLossless: true, hasAlpha: false))
    }

    /// The memory to decode the first image of `file` with previews: the rows, a copy of them, perhaps on a canvas, and
    /// the last preview, which the caller still holds.
    func byteCountWithPreviews(of file: WebPFile, imageSize: PixelSize, isLossless: Bool) -> Int {
        WebPImageDecoder.workingByteCount(of: imageSize, isLossless: isLossless, hasAlpha: file.hasAlpha)
            + imageSize.pixelByteCount * (imageSize == file.size ? 1 : 2) + byteCount(from: file.size)
            + targetSize.pixelByteCount
    }

    /// The largest image of which a thumbnail is made from all pixels: memory from the pool is cheaper than from the
    /// system.
    private static let pooledByteCount = 8 << 20
}
