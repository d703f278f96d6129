internal import FoundationEssentials
internal import WebImageCore

/// Decodes a PNG while its bytes arrive: rows from the top, or an interlaced picture in blocks that get finer.
///
/// Nothing is decoded before somebody wants a preview. So a picture that is whole before takes the fast way of
/// ``PNGDecoder/decode(_:options:)``, as does one of which previews showed little; others go on where the last preview
/// ended. The pixels are the same.
final class PNGIncrementalDecoder: IncrementalImageDecoder {
    private var options: DecodingOptions
    private var data = Data()
    private var file = PNGFile()
    private var hasCheckedSize = false
    private var stream: PNGStreamDecoder?
    /// What it holds of the process's memory since there is a stream.
    private var share: DecodingShare?
    // What the last preview showed.
    private var missingRowCount: UInt64?
    private var hasShownFirstFrame = false

    init(options: DecodingOptions) {
        self.options = options
        self.options.animationIdentity = AnimationIdentity()
    }

    var probe: ImageProbe? { try? PNGDecoder().probe(data) }

    var animation: (any AnimationSource)? {
        options.firstFrameOnly ? nil : (try? PNGReading(of: data, file: file, options: options).animation) ?? nil
    }

    func append(_ bytes: Data) throws(WebImageError) {
        try options.checkCancellation()
        data.append(bytes)
        if !hasCheckedSize, data.count >= PNGHeader.minimumByteCount {
            try options.limits.check(PNGHeader(reading: data.bytes).size)
            hasCheckedSize = true
        }
        let data = data
        file.read(data.bytes)
        try options.limits.check(metadataByteCount: file.metadataByteCount)
        if case .damaged(let what) = file.end, options.damage == .refuse || file.still == nil {
            throw .decoding(format: .png, reason: .corrupt(what))
        }
    }

    func preview() throws(WebImageError) -> Image? {
        guard let still = file.still, !still.chunks.isEmpty else { return nil }
        if let sequence = file.animation, !sequence.beginsWithStill { return try previewOfFirstFrame() }
        if stream == nil { try begin(still) }
        guard let stream else { return nil }
        try stream.take(still.chunks, of: data.bytes, cancellation: options.cancellation)
        // Whether the picture is to be refused, the whole of it tells.
        if options.damage == .refuse, stream.failure != nil { return nil }
        guard stream.shownRowCount > 0, stream.missingRowCount != missingRowCount else { return nil }
        missingRowCount = stream.missingRowCount
        let plan = try PNGReading(of: data, file: file, options: options).plan
        var image = try plan.image(of: stream.snapshot(cancellation: options.cancellation), format: .png)
        image.isPartial = true
        return image
    }

    /// Begins with the still, if there is memory for previews.
    private func begin(_ still: PNGPicture) throws(WebImageError) {
        let byteCount = try PNGReading(of: data, file: file, options: options).byteCountWithPreviews(of: still)
        guard byteCount <= options.limits.memoryByteCount else { return }
        share = options.budget.previewShare(byteCount)
        if share != nil { stream = try PNGStreamDecoder(still) }
    }

    /// Where the still is no frame, it is not shown while the first frame is on its way.
    private func previewOfFirstFrame() throws(WebImageError) -> Image? {
        guard !hasShownFirstFrame, file.animation?.wholeFrameCount ?? 0 > 0 else { return nil }
        let reading = try PNGReading(of: data, file: file, options: options)
        guard reading.firstByteCount <= options.limits.memoryByteCount,
            let share = options.budget.previewShare(reading.firstByteCount)
        else { return nil }
        defer { withExtendedLifetime(share) {} }
        hasShownFirstFrame = true
        do throws(WebImageError) {
            var image = try reading.firstFrame()
            image?.isPartial = true
            return image
        } catch .decoding {
            // What is still to come can break a rule, and then the still is all there is.
            return nil
        }
    }

    func finish() throws(WebImageError) -> Image {
        var share = self.share.take()
        var stream = self.stream.take()
        let reading = try PNGReading(of: data, file: file, options: options)
        // What previews take grows with the data. An image that fits without them is decoded without them.
        if stream != nil, let still = file.still,
            reading.byteCountWithPreviews(of: still) > options.limits.memoryByteCount
        {
            stream = nil
            share = nil
        }
        return try reading.image(goingOnWith: stream, share: share)
    }
}
