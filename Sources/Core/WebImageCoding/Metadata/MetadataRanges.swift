internal import WebImageCore

/// Where a file has EXIF and XMP, and the orientation that they give.
struct MetadataRanges {
    /// EXIF, with the bytes that a format puts before it.
    private(set) var exif: Range<Int>?
    /// The packet of XMP.
    private(set) var xmp: Range<Int>?
    private var exifOrientation: ImageOrientation?
    private var xmpOrientation: ImageOrientation?

    /// Programs that rotate an image often update only one of them. EXIF takes precedence, as in viewers.
    var orientation: ImageOrientation { exifOrientation ?? xmpOrientation ?? .up }

    /// Replaces the range of EXIF, which lies inside `data`, the file.
    mutating func setEXIF(_ range: Range<Int>, in data: RawSpan) {
        exif = range
        exifOrientation = ImageOrientation(exif: data.extracting(range))
    }

    /// Replaces the range of XMP.
    mutating func setXMP(_ range: Range<Int>, in data: RawSpan) {
        xmp = range
        xmpOrientation = ImageOrientation(xmp: data.extracting(range))
    }
}
