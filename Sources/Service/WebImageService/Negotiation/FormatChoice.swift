internal import WebImageCoding
internal import WebImageCore

/// Chooses the format of a result.
struct FormatChoice {
    let recipe: Recipe
    /// The offered formats that the client takes, best first.
    let accepted: [ImageFormat]
    let codecs: CodecRegistry

    /// Returns the formats to try: one, or for the best all that come into question.
    func formats(of image: Image, from source: ImageFormat?) -> [ImageFormat] {
        let isAnimated = image.animation != nil
        switch recipe.output {
        case .format(let format): return [format]
        case .best:
            let formats =
                accepted + (image.pixels.isOpaque && !isAnimated ? [.jpeg, .png] : isAnimated ? [.gif] : [.png])
            return formats.filter { canWrite($0, isAnimated) }
        case nil:
            if let format = accepted.first(where: { canWrite($0, isAnimated) }) { return [format] }
            return [plain(isAnimated: isAnimated, isOpaque: image.pixels.isOpaque, source)]
        }
    }

    private func canWrite(_ format: ImageFormat, _ isAnimated: Bool) -> Bool {
        isAnimated ? codecs.canEncodeAnimation(as: format) : codecs.canEncode(format)
    }

    /// A format that every client shows: the source's, if it is one.
    private func plain(isAnimated: Bool, isOpaque: Bool, _ source: ImageFormat?) -> ImageFormat {
        if isAnimated { return source == .png ? .png : .gif }
        if source == .png || source == .gif { return .png }
        return isOpaque ? .jpeg : .png
    }
}
