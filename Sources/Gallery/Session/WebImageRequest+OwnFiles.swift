import WebImageGTK

extension WebImageRequest {
    /// The request, without a limit on pixels for a file: its user has chosen it. The memory of decoding stays limited, so that larger
    /// files are decoded at the size of the view.
    var forOwnFiles: WebImageRequest {
        guard url.isFileURL else { return self }
        var (request, limits) = (self, DecodingLimits.default)
        limits.pixelCount = MutablePixelBuffer.maximumDimension * MutablePixelBuffer.maximumDimension
        request.decodingLimits = limits
        return request
    }
}
