internal import FoundationEssentials
internal import WebImageCoding

extension ImageMetadata {
    /// The artist and the copyright of a photograph, as EXIF without anything else; `nil` without either.
    var copyright: ImageMetadata? {
        guard let exif = exif.map({ [UInt8]($0) }), let layout = TIFFLayout(exif.span.bytes) else { return nil }
        let directory = TIFFDirectory(
            layout, at: layout.firstDirectory, in: exif.span.bytes, tags: [TIFFTag.artist, TIFFTag.copyright])
        return directory.isEmpty ? nil : ImageMetadata(exif: Data(directory.structure()))
    }
}
