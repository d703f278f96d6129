public import FoundationEssentials
public import WebImageCore

extension PNGDecoder {
    /// Hops over the chunks up to the pixels: what tells of transparency, frames and orientation stands behind the size.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        let prefix = prefix.prefix(ImageProbe.byteLimit)
        guard prefix.count >= PNGHeader.minimumByteCount else { return nil }
        let header = try PNGHeader(reading: prefix.bytes, stopsAtPixels: true)
        return header.reachesPixels || prefix.count == ImageProbe.byteLimit ? ImageProbe(header) : nil
    }
}

extension ImageProbe {
    /// What the chunks before the pixels tell.
    init(_ header: PNGHeader) {
        self.init(
            format: .png, size: header.orientation.upright(header.size), orientation: header.orientation,
            isAnimated: header.reachesPixels || header.claimsAnimation ? header.claimsAnimation : nil,
            hasAlpha: header.hasAlpha)
    }
}
