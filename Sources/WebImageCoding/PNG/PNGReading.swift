internal import FoundationEssentials
internal import WebImageCore

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
