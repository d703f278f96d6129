public import FoundationEssentials
public import WebImageCore

extension GIFDecoder {
    /// Hops over the blocks up to the first frame, which may enlarge the canvas.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        var file = GIFFile()
        try file.append(prefix.prefix(ImageProbe.byteLimit), stopsAtFrame: true)
        return try file.probe()
    }
}
