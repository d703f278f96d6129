internal import WebImageCore

/// How a WebP that is no animation is decoded within the limit on memory.
struct WebPMemoryPlan {
    /// The size to which the rows are resampled as they come.
    var passedSize: PixelSize?
    /// The size to which libwebp scales them.
    var scaledSize: PixelSize?
    /// The most that decoding takes so.
    var byteCount = 0
}

extension DecodingPlan {
    /// The way to decode `file` that looks best and fits into memory.
    ///
    /// - Throws: ``WebImageError/decodingMemoryExceeded(byteCount:limit:)``, with what the most economical way takes.
    func memoryPlan(for file: WebPFile) throws(WebImageError) -> WebPMemoryPlan {
        let working = WebPPictureDecoder.workingByteCount(
            of: file.size, isLossless: file.isLossless, hasAlpha: file.hasAlpha)
        let limit = options.limits.memoryByteCount
        var memory = WebPMemoryPlan()
        if targetSize != file.size, file.size.pixelByteCount > Self.keptByteCount {
            memory.passedSize = targetSize
            // All rows may come at once: a few bytes can stand for them.
            memory.byteCount = working + file.size.pixelByteCount + byteCount(resamplingRowsOf: file.size)
        } else {
            memory.byteCount = working + byteCount(from: file.size)
        }
        if memory.byteCount <= limit { return memory }
        var least = memory.byteCount
        for factor in [2, 1] where targetSize != file.size {
            let size = PixelSize(
                width: min(targetSize.width * factor, file.size.width),
                height: min(targetSize.height * factor, file.size.height))
            // libwebp keeps a row of sums for each row that comes out.
            let byteCount = working + byteCount(from: size) + size.width * 64
            if byteCount <= limit { return WebPMemoryPlan(scaledSize: size, byteCount: byteCount) }
            least = min(least, byteCount)
        }
        throw .decodingMemoryExceeded(byteCount: least, limit: limit)
    }

    /// What decoding the first frame of `file` takes, whole or not.
    func byteCount(ofFirstFrameOf file: WebPFile) -> Int {
        byteCount(
            ofFirst: file.firstPart, on: file.size,
            workingByteCount: WebPPictureDecoder.workingByteCount(
                of: file.firstPart.size, isLossless: true, hasAlpha: false))
    }

    /// What decoding the first picture of `file` takes with previews: the rows so far, a copy of them, on a canvas perhaps, and
    /// the last preview, which the caller still has.
    func byteCountWithPreviews(of file: WebPFile, pictureSize: PixelSize, isLossless: Bool) -> Int {
        WebPPictureDecoder.workingByteCount(of: pictureSize, isLossless: isLossless, hasAlpha: file.hasAlpha)
            + pictureSize.pixelByteCount * (pictureSize == file.size ? 1 : 2) + byteCount(from: file.size)
            + targetSize.pixelByteCount
    }

    /// What the pixels of a picture may take though a thumbnail is wanted: it comes cheaper from the pool than from the system.
    private static let keptByteCount = 8 << 20
}

extension WebPPictureDecoder {
    /// What libwebp takes besides the output for a picture of `size`.
    static func workingByteCount(of size: PixelSize, isLossless: Bool, hasAlpha: Bool) -> Int {
        // Rows of blocks, and what is known of each block.
        let rows = size.width * 256 + (1 << 20)
        // Lossless pixels have 4 bytes, what predicts them and their colours up to half a byte. Alpha has one, and may be
        // coded as lossless pixels are.
        let lossless = size.pixelCount * 4 + size.pixelCount / 2
        if isLossless { return lossless + rows }
        return (hasAlpha ? size.pixelCount + lossless : 0) + rows
    }
}
