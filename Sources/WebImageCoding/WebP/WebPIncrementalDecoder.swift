internal import CWebImageWebP
internal import FoundationEssentials
internal import WebImageCore

/// Decodes a WebP while its bytes arrive: the rows of a still or of a first frame, and frames that are whole.
///
/// Metadata come last in a file, so that probe and previews lie as they are stored until it is whole.
final class WebPIncrementalDecoder: IncrementalImageDecoder {
    private var options: DecodingOptions
    private let slots: IncrementalDecodingSlots
    private var data = Data()
    /// Known once there is a header.
    private var file: WebPFile?
    /// Of the first picture, from when its bytes come; a lossless one waits for a slot.
    private var picture: WebPPictureDecoder?
    private var slot: IncrementalDecodingSlot?
    /// What it holds of the process's memory since there is a picture.
    private var share: DecodingShare?
    /// What the first picture is, once its header is there.
    private var isLossless: Bool?
    /// What it takes with previews, once that is known: working it out may mean to read a color profile.
    private var previewByteCount: Int?
    /// With how many bytes it is worth looking again for a header that was not there: it may stand behind any number of
    /// chunks, and libwebp goes through all of them each time.
    private var nextLookCount = 0
    private var frames = ArrivingAnimation()

    init(options: DecodingOptions, slots: IncrementalDecodingSlots) {
        self.options = options
        self.options.animationIdentity = AnimationIdentity()
        self.slots = slots
    }

    var probe: ImageProbe? { file.map { ImageProbe($0) } }

    /// The frames so far. Whoever keeps it keeps its bytes: the next ``append(_:)`` copies them.
    var animation: (any AnimationSource)? {
        guard let file else { return nil }
        return try? frames.source(frameCount: file.frames.count, isComplete: file.isComplete(at: data.count)) {
            () throws(WebImageError) in
            let plan = try DecodingPlan(file, in: data.bytes, options: options)
            return try ComposedAnimation(WebPAnimationFile(file, in: data, damage: options.damage), plan: plan)
        }
    }

    func append(_ bytes: Data) throws(WebImageError) {
        try options.checkCancellation()
        data.append(bytes)
        try readChunks()
        try decodePicture()
    }

    func preview() throws(WebImageError) -> Image? {
        try options.checkCancellation()
        guard let file, let pixels = try picture?.preview(cancellation: options.cancellation) else { return nil }
        let canvas = try file.canvas(with: pixels, options: options)
        var image = try DecodingPlan(file, in: data.bytes, options: options).image(of: canvas, format: .webp)
        image.isPartial = true
        return image
    }

    func finish() throws(WebImageError) -> Image {
        try options.checkCancellation()
        defer { forgetPicture() }
        // How far libwebp gets in a file that is cut off depends on how it came; frames have to be composed anyway.
        guard let file, let picture, picture.isComplete, !file.isAnimation, file.isComplete(at: data.count) else {
            // That asks for memory anew.
            forgetPicture()
            return try WebPDecoder().decode(data, options: options)
        }
        let pixels = try picture.finish(damage: options.damage, cancellation: options.cancellation).pixels
        return try DecodingPlan(file, in: data.bytes, options: options).image(of: pixels, format: .webp)
    }

    private func forgetPicture() {
        picture = nil
        slot = nil
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
        } catch .decoding(_, .truncated) {
            lookAgainLater()
        }
    }

    private func decodePicture() throws(WebImageError) {
        guard let file else { return }
        let isEnd = file.isComplete(at: data.count)
        try file.withFirstPicture(in: data.bytes) { (bytes) throws(WebImageError) in
            if picture == nil { picture = try makePicture(file, bytes) }
            guard let picture else { return }
            // Pieces are those of a decode of the whole file: how libwebp takes damaged data depends on where they end.
            try picture.decode(bytes, wholePiecesOnly: !isEnd, cancellation: options.cancellation)
            if picture.isComplete { slot = nil }
        }
    }

    private func makePicture(
        _ file: WebPFile, _ bytes: UnsafeRawBufferPointer
    ) throws(WebImageError) -> WebPPictureDecoder? {
        if isLossless == nil, data.count >= nextLookCount {
            isLossless = (try? WebPBitstreamFeatures(of: bytes, isWhole: false))?.isLossless
            if isLossless == nil { lookAgainLater() }
        }
        guard let isLossless else { return nil }
        if let previewByteCount, previewByteCount > options.limits.memoryByteCount { return nil }
        if isLossless {
            slot = slots.take()
            if slot == nil { return nil }
        }
        let byteCount = try byteCountWithPreviews(of: file, isLossless: isLossless)
        if byteCount <= options.limits.memoryByteCount { share = options.budget.previewShare(byteCount) }
        guard share != nil else {
            slot = nil
            return nil
        }
        return try file.makeFirstPictureDecoder()
    }

    private func byteCountWithPreviews(of file: WebPFile, isLossless: Bool) throws(WebImageError) -> Int {
        if let previewByteCount { return previewByteCount }
        let byteCount = try DecodingPlan(file, in: data.bytes, options: options)
            .byteCountWithPreviews(of: file, pictureSize: file.firstPart.size, isLossless: isLossless)
        previewByteCount = byteCount
        return byteCount
    }

    /// With a sixteenth more: all looks together then go through a few times as much as there is.
    private func lookAgainLater() { nextLookCount = data.count + data.count / 16 }
}
