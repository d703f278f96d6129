public import FoundationEssentials
public import WebImageCore

extension JPEGDecoder {
    /// Hops over the markers up to the first scan: one with the orientation may stand behind the size.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        let prefix = prefix.prefix(ImageProbe.byteLimit)
        do throws(WebImageError) {
            let header = try JPEGHeader(reading: prefix.bytes)
            return header.reachesScan || prefix.count == ImageProbe.byteLimit ? ImageProbe(header) : nil
        } catch .decoding(_, .truncated) {
            return nil
        }
    }
}

extension ImageProbe {
    /// What the markers before the first scan tell.
    init(_ header: JPEGHeader) {
        self.init(format: .jpeg, size: header.orientation.upright(header.size), orientation: header.orientation)
    }
}
