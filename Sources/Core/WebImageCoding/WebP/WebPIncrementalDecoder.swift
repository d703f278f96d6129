internal import CWebImageWebP
internal import FoundationEssentials
internal import WebImageCore

/// Decodes a WebP while its bytes arrive: the rows of a still image or of a first frame, and complete frames.
///
/// Metadata come last in a file, so the probe and previews are not rotated before it is complete.
final class WebPIncrementalDecoder: IncrementalImageDecoder {
    private var options: DecodingOptions
    private var data = Data()
    /// Set once the header has arrived.
    private var file: WebPFile?
    /// Decodes the first image once its bytes arrive and there is memory.
    private var decoder: WebPImageDecoder?
    private var share: DecodingShare?
    /// Whether the first image is lossless; set once its header has arrived.
    private var isLossless: Bool?
    /// The memory for previews, cached because computing it may read a color profile.
    private var previewByteCount: Int?
    /// The number of bytes at which to look for a missing header again. It may follow any number of chunks, and libwebp
    /// reads all of them each time.
    private var nextLookCount = 0
    private var frames = ArrivingAnimation()

    init(options: DecodingOptions) {
        self.options = options
        self.options.animationIdentity = AnimationIdentity()
    }

    var probe: ImageProbe? { file.map { ImageProbe($0) } }

    /// The frames so far. While a caller holds it, the next ``append(_:)`` copies its bytes.
    var animation: (any AnimationSource)? {
        guard let file else { return nil }
        return try? frames.source(frameCount: file.frames.count, isComplete: file.isComplete(at: data.count)) {
            () throws(WebImageError) in
            let plan = try DecodingPlan(file, in: data.bytes, options: options)
            return try ComposedAnimation(WebPAnimationFile(file, in: data, options: options), plan: plan)
        }
    }

    func append(_ bytes: Data) throws(WebImageError) {
        try options.checkCancellation()
        data.append(bytes)
        try readChunks()
        try decodeFirstImage()
    }

    func preview() throws(WebImageError) -> Image? {
        try options.checkCancellation()
        guard let file, let pixels = try decoder?.preview(cancellation: options.cancellation) else { return nil }
        let canvas = try file.canvas(with: pixels, options: options)
        var image = try DecodingPlan(file, in: data.bytes, options: options).image(of: canvas, format: .webp)
        image.isPartial = true
        return image
    }

    func finish() throws(WebImageError) -> Image {
        try options.checkCancellation()
        defer { releaseDecoder() }
        // In a truncated file, how far libwebp gets depends on the pieces. Frames have to be composed anyway.
        guard let file, let decoder, decoder.isComplete, !file.isAnimation, file.isComplete(at: data.count) else {
            // Decoding requests its own memory.
            releaseDecoder()
            return try WebPDecoder().decode(data, options: options)
        }
        let pixels = try decoder.finish(allowsDamage: options.allowsDamage, cancellation: options.cancellation).pixels
        return try DecodingPlan(file, in: data.bytes, options: options).image(of: pixels, format: .webp)
    }

    private func releaseDecoder() {
        decoder = nil
        share = nil
    }

    private func readChunks() throws(WebImageError) {
        if file != nil {
            try file?.readChunks(of: data.bytes)
            try options.limits.check(metadataByteCount: file?.metadataByteCount ?? 0)
            return
        }
        guard data.count >= nextLookCount else { return }
        do throws(WebImageError) {
            let file = try WebPFile(reading: data.bytes, frameLimit: options.limits.frameCount)
            try options.limits.check(file.size)
            try options.limits.check(metadataByteCount: file.metadataByteCount)
            self.file = file
        } catch .decoding(_, .truncated, _) {
            lookAgainLater()
        }
    }

    private func decodeFirstImage() throws(WebImageError) {
        guard let file else { return }
        let isEnd = file.isComplete(at: data.count)
        try file.withFirstImage(in: data.bytes) { (bytes) throws(WebImageError) in
            if decoder == nil { decoder = try makeDecoder(file, bytes) }
            guard let decoder else { return }
            // The pieces are those of decoding the whole file: libwebp's result for damaged data depends on them.
            try decoder.decode(bytes, wholePiecesOnly: !isEnd, cancellation: options.cancellation)
            if decoder.isComplete { share?.endLargePreview() }
        }
    }

    private func makeDecoder(
        _ file: WebPFile, _ bytes: UnsafeRawBufferPointer
    ) throws(WebImageError) -> WebPImageDecoder? {
        if isLossless == nil, data.count >= nextLookCount {
            isLossless = (try? WebPBitstreamFeatures(of: bytes, isWhole: false))?.isLossless
            if isLossless == nil { lookAgainLater() }
        }
        guard let isLossless else { return nil }
        if previewByteCount == nil {
            previewByteCount = try DecodingPlan(file, in: data.bytes, options: options)
                .byteCountWithPreviews(of: file, imageSize: file.firstPart.size, isLossless: isLossless)
        }
        share = previewByteCount.flatMap { options.previewShare($0, hasCopy: isLossless) }
        return share == nil ? nil : try file.makeFirstImageDecoder(options)
    }

    /// Waits for a sixteenth more bytes, so that all attempts together read only a few times the file.
    private func lookAgainLater() { nextLookCount = data.count + data.count / 16 }
}
