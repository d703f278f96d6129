internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// EXIF data are a TIFF structure themselves, so a TIFF file has their entries in its own directories.
extension ImageMetadata {
    /// Reads those of the first page; none from a BigTIFF.
    init(ofTIFF file: Data) {
        let data = file.bytes
        guard let layout = TIFFLayout(data) else {
            self.init()
            return
        }
        let description = TIFFDirectory(layout, at: layout.firstDirectory, in: data, tags: TIFFTag.descriptions)
        let packet = TIFFDirectory(layout, at: layout.firstDirectory, in: data, tags: [TIFFTag.xmp])
        self.init(
            exif: description.isEmpty ? nil : Data(description.structure()),
            xmp: packet.bytes(of: TIFFTag.xmp).map { Data($0) })
    }

    /// Writes a new directory with these entries at the end of `file`, a little-endian TIFF of one page.
    func added(toTIFF file: Data, profile: [UInt8]?) -> Data {
        guard let layout = TIFFLayout(file.bytes), !layout.isBigEndian else { return file }
        var directory = TIFFDirectory(layout, at: layout.firstDirectory, in: file.bytes)
        if let exif, let layout = TIFFLayout(exif.bytes) {
            directory.add(
                TIFFDirectory(layout, at: layout.firstDirectory, in: exif.bytes, tags: TIFFTag.descriptions))
        }
        if let xmp { directory.set(TIFFTag.xmp, type: 1, Array(xmp)) }
        if let profile { directory.set(TIFFTag.profile, type: 7, profile) }
        var result = file
        if result.count % 2 == 1 { result.append(0) }
        let start = result.count
        result.append(contentsOf: directory.bytes(at: start))
        result.replaceSubrange(4..<8, with: start.littleEndianBytes(4))
        return result
    }
}
