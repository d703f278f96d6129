internal import FoundationEssentials

extension ImageMetadata {
    /// The artist and the copyright of a photograph, as EXIF without anything else; `nil` without either.
    ///
    /// It is for pictures that are published: they keep whose they are, and lose the place, the date and the camera.
    ///
    /// ```swift
    /// var options = EncodingOptions()
    /// options.metadata = try CodecRegistry.shared.metadata(of: data).copyright
    /// ```
    public var copyright: ImageMetadata? {
        guard let exif = exif.map({ [UInt8]($0) }), let layout = TIFFLayout(exif.span.bytes) else { return nil }
        let directory = TIFFDirectory(
            layout, at: layout.firstDirectory, in: exif.span.bytes, tags: [TIFFTag.artist, TIFFTag.copyright])
        return directory.isEmpty ? nil : ImageMetadata(exif: Data(directory.structure()))
    }
}
