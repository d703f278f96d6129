public import FoundationEssentials
public import WebImageCore

extension WebPDecoder {
    /// Reads the header of the file, or of a plain still's picture.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        do throws(WebImageError) {
            return ImageProbe(try WebPFile(reading: prefix.prefix(ImageProbe.byteLimit).bytes))
        } catch .decoding(_, .truncated) {
            return nil
        }
    }
}

extension ImageProbe {
    /// What the chunks so far tell; the orientation stands behind the pixels.
    init(_ file: WebPFile) {
        self.init(
            format: .webp, size: file.orientation.upright(file.size), orientation: file.orientation,
            isAnimated: file.isAnimation, hasAlpha: file.hasAlpha)
    }
}
