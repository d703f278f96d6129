internal import WebImageCore

extension GIFFile {
    /// Why not every block is there, once the file is finished; `nil` if they are.
    ///
    /// Only a still may lack its trailer, as browsers show it then: it has no more to come, while an animation may have
    /// lost any number of frames.
    var damage: WebImageError? {
        let isStill = frames.count == 1 && frames[0].isWhole && repeatCount == nil
        return switch end {
        case .trailer: nil
        case .missingTrailer where isStill, .strayByte where isStill: nil
        case nil, .missingTrailer, .cutBlock: .decoding(format: .gif, reason: .truncated)
        case .strayByte: .decoding(format: .gif, reason: .corrupt("a byte that begins no block"))
        }
    }

    /// The canvas of a finished file.
    func checkedSize() throws(WebImageError) -> PixelSize {
        guard let size else { throw .decoding(format: .gif, reason: .truncated) }
        guard size.width > 0, size.height > 0 else {
            let isCut = frames.isEmpty && (end == .missingTrailer || end == .cutBlock)
            throw .decoding(format: .gif, reason: isCut ? .truncated : .corrupt("a canvas of \(size) pixels"))
        }
        return size
    }

    /// What is known already; `nil` before the first frame.
    func probe() throws(WebImageError) -> ImageProbe? {
        guard let size else { return nil }
        guard size.width > 0, size.height > 0 else {
            throw .decoding(format: .gif, reason: .corrupt("a canvas of \(size) pixels"))
        }
        return ImageProbe(
            format: .gif, size: size, isAnimated: frames.count > 1 ? true : end == .trailer ? false : nil,
            hasAlpha: hasAlpha)
    }

    /// The first frame of a finished file.
    func checkedFirstFrame(_ damageAllowed: DecodingOptions.Damage) throws(WebImageError) -> GIFFrame {
        if let damage, damageAllowed == .refuse || frames.isEmpty { throw damage }
        guard let frame = frames.first else { throw .decoding(format: .gif, reason: .corrupt("no frame")) }
        return frame
    }

    /// What the way to the picture takes at the most that is tried first: a thumbnail's, or the whole canvas's.
    func firstByteCount(plan: DecodingPlan) -> Int {
        guard let size, let frame = frames.first ?? openFrame else { return 0 }
        guard plan.targetSize != size, frame.size == size, frame.part(on: size).covers(size) else {
            return wholeByteCount(plan: plan)
        }
        return GIFFrameDecoder.workingByteCount(of: size) + plan.byteCount(resamplingRowsOf: size)
    }

    /// What the whole canvas takes with the first frame on it.
    private func wholeByteCount(plan: DecodingPlan) -> Int {
        guard let size, let frame = frames.first ?? openFrame else { return 0 }
        // Of a frame that sticks out, all is unpacked and a part is shown.
        return plan.byteCount(
            ofFirst: frame.part(on: size), on: size, workingByteCount: GIFFrameDecoder.workingByteCount(of: frame.size))
    }

    /// The same with previews: a canvas made of the rows so far, and the last preview, which the caller still has.
    func byteCountWithPreviews(plan: DecodingPlan) -> Int {
        wholeByteCount(plan: plan) + plan.targetSize.pixelByteCount
    }

    /// The picture of a file, finished or not, whose first frame is unpacked as far as it is there.
    ///
    /// - Parameter share: of the process's memory, for ``firstByteCount(plan:)`` at least.
    func image(
        first: GIFFrameDecoder, plan: DecodingPlan, share: DecodingShare
    ) throws(WebImageError) -> Image {
        // One that is still arriving lacks rows, which is no damage yet.
        if end != nil { try first.check(plan.options.damage, isWhole: frames.first?.isWhole == true) }
        guard let file = GIFAnimationFile(self, options: plan.options) else {
            throw .decoding(format: .gif, reason: .corrupt("no frame"))
        }
        var image: Image
        if let thumbnail = try thumbnail(of: file, first: first, plan: plan) {
            image = thumbnail
        } else {
            try plan.options.grow(share, to: wholeByteCount(plan: plan))
            image = try picture(of: file, first: first, plan: plan)
        }
        image.isPartial = end == nil || damage != nil || !first.isComplete
        return image
    }

    private func picture(
        of file: GIFAnimationFile, first: GIFFrameDecoder, plan: DecodingPlan
    ) throws(WebImageError) -> Image {
        let pixels = try first.pixels(of: file.parts[0], cancellation: plan.options.cancellation)
        var image = try plan.image(of: file.with(firstPixels: pixels))
        // Without those pixels, of which the picture has a copy or what was made of them.
        if image.animation != nil { image.animation = try ComposedAnimation(file, plan: plan) }
        return image
    }

    /// The same of another size, without a canvas in memory; `nil` unless the first frame is all of it.
    private func thumbnail(
        of file: GIFAnimationFile, first: GIFFrameDecoder, plan: DecodingPlan
    ) throws(WebImageError) -> Image? {
        guard plan.targetSize != file.canvasSize, first.size == file.canvasSize, file.parts[0].covers(file.canvasSize)
        else { return nil }
        // Made before the pixels: it looks at the limits.
        let isAnimated = file.parts.count > 1 && !plan.options.firstFrameOnly
        let animation = isAnimated ? try ComposedAnimation(file, plan: plan) : nil
        guard let pixels = try first.resampled(to: plan.targetSize, cancellation: plan.options.cancellation) else {
            return nil
        }
        var image = try plan.image(of: pixels, format: .gif, frameCount: file.parts.count)
        image.animation = animation
        return image
    }
}
