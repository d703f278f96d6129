internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore
internal import WebImageProcessing

/// Encodes an image in the best of several formats, on a decoding thread.
struct ResultEncoding {
    let maker: ResultMaker
    let recipe: Recipe
    let image: Image
    /// Of the image.
    let gainMap: GainMap?
    /// To be written.
    let metadata: ImageMetadata?
    let cancellation: Cancellation

    /// A file that may become the result.
    private struct Candidate {
        let data: Data
        /// By how much it differs from the image more than it may.
        var excess = 0.0

        /// Files within the bound are better than others, and shorter ones than longer ones.
        func isBetter(than other: Candidate?) -> Bool {
            other.map { (excess, data.count) < ($0.excess, $0.data.count) } ?? true
        }
    }

    /// - Parameters:
    ///   - formats: those to choose from.
    ///   - source: the format of the source.
    func file(_ formats: [ImageFormat], _ source: ImageFormat) throws(WebImageError) -> ResultMaker.File {
        var best: (candidate: Candidate, format: ImageFormat)?
        var budget = max(1, maker.limits.encodingCount)
        for format in formats {
            if best != nil, budget == 0 { break }
            let candidate = try candidate(format, &budget)
            if candidate.isBetter(than: best?.candidate) { best = (candidate, format) }
        }
        guard let best else { throw .encoding(format: source, reason: .noEncoder) }
        return ResultMaker.File(best.candidate.data, best.format)
    }

    private func candidate(_ format: ImageFormat, _ budget: inout Int) throws(WebImageError) -> Candidate {
        let quality = (recipe.quality > 0 ? recipe.quality : nil) ?? recipe.formatQualities[format.name]
        if quality == nil, let bound = recipe.qualityBound, Self.lossyFormats.contains(format) {
            return try candidate(format, within: bound, &budget)
        }
        budget -= 1
        return Candidate(data: try encoded(image, format, quality ?? standardQuality(of: format)))
    }

    private static let lossyFormats: Set<ImageFormat> = [.jpeg, .webp, .avif, .heic, .jpegXL]

    private func standardQuality(of format: ImageFormat) -> Int {
        maker.formatQualities[format] ?? OutputFormats.standardQuality(of: format, otherwise: maker.quality)
    }

    /// Returns the shortest file within the bound that a bisection of the quality finds. Of an animation, the first frame decides.
    private func candidate(
        _ format: ImageFormat, within bound: ImageService.QualityBound, _ budget: inout Int
    ) throws(WebImageError) -> Candidate {
        let still = image.animation == nil ? image : Image(pixels: image.pixels)
        let qualities = bound.formatQualities[format] ?? bound.qualities
        var (low, high) = (qualities.lowerBound, qualities.upperBound)
        var quality = min(max(standardQuality(of: format), low), high)
        var best: (candidate: Candidate, quality: Int)?
        while low <= high, best == nil || budget > 0 {
            budget -= 1
            let data = try encoded(still, format, quality, byteLimit: nil)
            let difference = try difference(of: data, from: still)
            let excess = max(0, difference - bound.dissimilarity - bound.allowedError)
            let candidate = Candidate(data: data, excess: excess)
            if candidate.isBetter(than: best?.candidate) { best = (candidate, quality) }
            if abs(difference - bound.dissimilarity) <= bound.allowedError { break }
            if difference > bound.dissimilarity { low = quality + 1 } else { high = quality - 1 }
            quality = (low + high) / 2
        }
        guard let best else { throw .encoding(format: format, reason: .noEncoder) }
        let isTooLong = recipe.byteLimit > 0 && best.candidate.data.count > recipe.byteLimit
        guard image.animation != nil || isTooLong else { return best.candidate }
        budget -= 1
        return Candidate(data: try encoded(image, format, best.quality), excess: best.candidate.excess)
    }

    /// The structural dissimilarity: 0 for equal images, at most 1.
    private func difference(of data: Data, from still: Image) throws(WebImageError) -> Double {
        let options = DecodingOptions(limits: maker.limits.decoding, cancellation: cancellation)
        let decoded = try maker.codecs.decode(data, options: options)
        return try (1 - ImageComparison(still, decoded, cancellation: cancellation).structuralSimilarity) / 2
    }

    private func encoded(_ image: Image, _ format: ImageFormat, _ quality: Int) throws(WebImageError) -> Data {
        try encoded(image, format, quality, byteLimit: recipe.byteLimit > 0 ? recipe.byteLimit : nil)
    }

    private func encoded(
        _ image: Image, _ format: ImageFormat, _ quality: Int, byteLimit: Int?
    ) throws(WebImageError) -> Data {
        var options = EncodingOptions(
            quality: Double(quality) / 100, background: recipe.background ?? .white, byteLimit: byteLimit,
            cancellation: cancellation)
        // As in imgproxy.
        options.qualityScale = .library
        // A client waits.
        if format == .avif || format == .jpegXL { options.speed = 8 }
        options.writesColorProfile = !recipe.stripsProfile
        options.metadata = metadata
        options.gainMap = gainMap
        return try maker.codecs.encode(image, as: format, options: options)
    }
}
