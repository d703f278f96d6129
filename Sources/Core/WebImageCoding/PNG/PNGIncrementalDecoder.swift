internal import FoundationEssentials
internal import WebImageCore

/// Decodes a PNG while its bytes arrive: rows from the top, or an interlaced image in blocks that get finer.
///
/// Nothing is decoded before the first preview is requested, so a file that is complete by then takes the fast way of
/// ``PNGDecoder/decode(_:options:)``, as does one of which previews showed little. Others continue where the last
/// preview ended. The pixels are the same.
final class PNGIncrementalDecoder: IncrementalImageDecoder {
    private var options: DecodingOptions
    private var data = Data()
    private var file = PNGFile()
    private var hasCheckedSize = false
    private var stream: PNGStreamDecoder?
    /// The memory of ``stream``.
    private var share: DecodingShare?
    /// The missing rows of the last preview.
    private var missingRowCount: UInt64?
    private var hasShownFirstFrame = false

    init(options: DecodingOptions) {
        self.options = options
        self.options.animationIdentity = AnimationIdentity()
    }

    var probe: ImageProbe? { try? PNGDecoder().probe(data) }

    var animation: (any AnimationSource)? {
        options.firstFrameOnly ? nil : (try? reading.animation) ?? nil
    }

    private var reading: PNGReading {
        get throws(WebImageError) { try PNGReading(of: data, file: file, options: options) }
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
        if case .damaged(let what) = file.end, !options.allowsDamage || file.still == nil {
            throw .decoding(format: .png, reason: .corrupt(what))
        }
    }

    func preview() throws(WebImageError) -> Image? {
        guard file.still?.chunks.isEmpty == false else { return nil }
        let reading = try reading
        guard let still = reading.file.still else { return nil }
        if let sequence = file.animation, !sequence.beginsWithStill { return try previewOfFirstFrame() }
        if stream == nil {
            share = options.previewShare(reading.byteCountWithPreviews(of: still))
            if share != nil { stream = try PNGStreamDecoder(still) }
        }
        guard let stream else { return nil }
        try stream.take(still.chunks, of: data.bytes, cancellation: options.cancellation)
        // Only the whole image tells whether to refuse it.
        if !options.allowsDamage, stream.failure != nil { return nil }
        guard stream.shownRowCount > 0, stream.missingRowCount != missingRowCount else { return nil }
        missingRowCount = stream.missingRowCount
        var image = try reading.plan.image(of: stream.snapshot(cancellation: options.cancellation), format: .png)
        image.isPartial = true
        return image
    }

    /// If the default image is not a frame, it is not shown while the first frame is arriving.
    private func previewOfFirstFrame() throws(WebImageError) -> Image? {
        guard !hasShownFirstFrame, file.animation?.wholeFrameCount ?? 0 > 0 else { return nil }
        let reading = try reading
        guard let share = options.previewShare(reading.firstByteCount) else { return nil }
        defer { withExtendedLifetime(share) {} }
        hasShownFirstFrame = true
        do throws(WebImageError) {
            var image = try reading.firstFrame()
            image?.isPartial = true
            return image
        } catch .decoding {
            // Later chunks can break a rule; then the default image is the result.
            return nil
        }
    }

    func finish() throws(WebImageError) -> Image {
        var share = self.share.take()
        var stream = self.stream.take()
        let reading = try reading
        // The memory for previews grows with the data. An image that fits without them is decoded without them.
        if stream != nil, let still = reading.file.still,
            reading.byteCountWithPreviews(of: still) > options.limits.memoryByteCount
        {
            stream = nil
            share = nil
        }
        return try reading.image(continuing: stream, share: share)
    }
}
