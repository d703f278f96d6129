import WebImageGTK

extension WebImageRequest {
    /// The request, with ``DecodingLimits/ownFiles`` for a file.
    var forOwnFiles: WebImageRequest {
        guard url.isFileURL else { return self }
        var request = self
        request.decodingLimits = .ownFiles
        return request
    }
}

extension DecodingLimits {
    /// No limit on pixels, and a minute, for files: their user has chosen them. The memory of decoding stays limited, so that larger files are
    /// decoded at the size of the view.
    static let ownFiles = {
        var limits = DecodingLimits.default
        limits.pixelCount = PixelSize.maximumDimension * PixelSize.maximumDimension
        limits.processorTime = .seconds(60)
        return limits
    }()
}
