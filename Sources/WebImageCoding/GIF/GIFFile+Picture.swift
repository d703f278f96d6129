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

    /// The picture of a file, finished or not, whose first frame is unpacked as far as it is there.
    func image(first: GIFFrameDecoder, plan: DecodingPlan) throws(WebImageError) -> Image {
        // One that is still arriving lacks rows, which is no damage yet.
        if end != nil { try first.check(plan.options.damage, isWhole: frames.first?.isWhole == true) }
        guard let file = GIFAnimationFile(self, options: plan.options) else {
            throw .decoding(format: .gif, reason: .corrupt("no frame"))
        }
        var image: Image
        if let thumbnail = try thumbnail(of: file, first: first, plan: plan) {
            image = thumbnail
        } else {
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
        let animation = try ComposedAnimation(file, plan: plan)
        guard let pixels = try first.resampled(to: plan.targetSize, cancellation: plan.options.cancellation) else {
            return nil
        }
        var image = try plan.image(of: pixels, format: .gif, frameCount: file.parts.count)
        if file.parts.count > 1, !plan.options.firstFrameOnly { image.animation = animation }
        return image
    }
}
