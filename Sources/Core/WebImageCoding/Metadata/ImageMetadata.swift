internal import CWebImageLCMS
public import FoundationEssentials
public import WebImageCore

/// The metadata of a file's image, beside the pixels. Read it with ``CodecRegistry/metadata(of:limits:cancellation:)``, and write it with
/// ``EncodingOptions/metadata``.
public struct ImageMetadata: Codable, Sendable, Hashable {
    /// EXIF: the date, the camera, the place (CIPA DC-008). A TIFF structure, without `Exif\0\0`; `nil` for none.
    public var exif: Data?
    /// An XMP packet (ISO 16684-1): XML; `nil` for none.
    public var xmp: Data?

    /// The fields of ``exif``, read by each call; `nil` without EXIF that can be read.
    public var exifFields: EXIFFields? { exif.flatMap { EXIFFields($0) } }

    /// Creates metadata.
    public init(exif: Data? = nil, xmp: Data? = nil) {
        self.exif = exif
        self.xmp = xmp
    }

    /// Creates metadata from parts as files have them: EXIF may have bytes before its header.
    public init(storedEXIF exif: Data?, xmp: Data?) {
        self.exif = exif.flatMap { bytes in Self.header(in: bytes.bytes).map { Data(bytes.dropFirst($0)) } }
        self.xmp = xmp?.isEmpty == false ? xmp : nil
    }

    /// The offset of the header of a TIFF structure: at the beginning, behind `Exif\0\0`, or where the four bytes of
    /// ISO/IEC 23008-12, A.2.1 tell.
    private static func header(in data: RawSpan) -> Int? {
        let prefix = TIFFLayout.prefix.utf8CodeUnitCount
        let offset = data.integer(at: 0, count: 4, isBigEndian: true).map { 4 + $0 }
        return [0, prefix, offset, 4, 4 + prefix].compactMap(\.self).first { start in
            start <= data.byteCount && TIFFLayout(data.extracting(start...))?.start == 0
        }
    }
}

extension ImageMetadata {
    /// Returns the metadata for pixels that were turned upright, converted to sRGB, and perhaps scaled: with the
    /// orientation 1, the color space sRGB and this size, in EXIF and XMP, and without a thumbnail of the file that it
    /// is from. Without EXIF there will be one with nothing but the orientation. The properties of a gain map, which is
    /// not written, are left out of XMP.
    ///
    /// - Parameter isSRGB: `false` for pixels that keep the colors of the original's profile.
    /// - Throws: ``WebImageError/EncodingFailure/invalidMetadata`` if the EXIF has no header.
    public func describing(
        _ size: PixelSize, as format: ImageFormat, isSRGB: Bool = true
    ) throws(WebImageError) -> ImageMetadata {
        var result = self
        if let exif {
            var bytes = Array(exif)
            guard let layout = TIFFLayout(bytes.span.bytes) else {
                throw .encoding(format: format, reason: .invalidMetadata)
            }
            EXIFEditor(layout).describe(size, colorSpace: isSRGB ? 1 : nil, in: &bytes)
            result.exif = Data(bytes)
        } else {
            result.exif = Self.exif(.up)
        }
        result.xmp = xmp.flatMap { xmp in
            Self.packet(
                xmp, setting: Self.properties(of: size) + (isSRGB ? [(.exif, "ColorSpace", "1")] : []),
                removing: [.gainMap, .container, .containerItem])
        }
        return result
    }

    static func exif(_ orientation: ImageOrientation) -> Data {
        var directory = TIFFDirectory()
        directory.setShort(TIFFTag.orientation, orientation.rawValue)
        return Data(directory.structure())
    }

    /// Returns the metadata of the same image whose pixels were turned upright: the orientation is 1. A thumbnail in it, which was not
    /// turned, is left out.
    ///
    /// - Parameter size: the size of the turned image, in pixels.
    public func turnedUpright(_ size: PixelSize) -> ImageMetadata {
        var result = self
        if let exif {
            var bytes = Array(exif)
            if let layout = TIFFLayout(bytes.span.bytes) {
                EXIFEditor(layout).describe(size, colorSpace: nil, in: &bytes)
            }
            result.exif = Data(bytes)
        }
        result.xmp = xmp.map { Self.packet($0, setting: Self.properties(of: size)) ?? $0 }
        return result
    }

    /// Returns the metadata for the same stored pixels that are shown in another orientation; `nil` if the EXIF data has no place for it.
    public func withOrientation(_ orientation: ImageOrientation) -> ImageMetadata? {
        var result = self
        if let exif {
            var bytes = Array(exif)
            guard let layout = TIFFLayout(bytes.span.bytes),
                EXIFEditor(layout).setOrientation(orientation, in: &bytes)
            else { return nil }
            result.exif = Data(bytes)
        } else {
            result.exif = Self.exif(orientation)
        }
        result.xmp = xmp.map { Self.packet($0, setting: [Self.property(orientation)]) ?? $0 }
        return result
    }

    private typealias Property = (namespace: XMPPacket.Namespace, property: String, value: String)

    /// Returns an XMP packet with these properties, where it has them; `nil` if an element to leave out has no end.
    private static func packet(
        _ packet: Data, setting properties: [Property], removing namespaces: [XMPPacket.Namespace] = []
    ) -> Data? {
        XMPPacket(Array(packet)).changed(setting: properties, removing: namespaces).map { Data($0) }
    }

    private static func property(_ orientation: ImageOrientation) -> Property {
        (.tiff, "Orientation", "\(orientation.rawValue)")
    }

    /// The properties that tell the size of pixels that are upright.
    private static func properties(of size: PixelSize) -> [Property] {
        let (width, height) = ("\(size.width)", "\(size.height)")
        return [
            property(.up), (.tiff, "ImageWidth", width), (.tiff, "ImageLength", height),
            (.exif, "PixelXDimension", width), (.exif, "PixelYDimension", height),
        ]
    }

    /// A profile of sRGB, for files that cannot name it.
    static let sRGBProfile: [UInt8] = {
        guard let profile = cmsCreate_sRGBProfile() else { return [] }
        defer { cmsCloseProfile(profile) }
        return bytes(ofProfile: profile) ?? []
    }()

    /// Returns a profile as a file has it.
    static func bytes(ofProfile profile: cmsHPROFILE) -> [UInt8]? {
        var count: cmsUInt32Number = 0
        guard cmsSaveProfileToMem(profile, nil, &count) != 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        guard cmsSaveProfileToMem(profile, &bytes, &count) != 0 else { return nil }
        // The date and the checksum of the profile: the same image gives the same file.
        bytes.replaceSubrange(24..<36, with: [0x07, 0xE8, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0])
        bytes.replaceSubrange(84..<100, with: repeatElement(0, count: 16))
        return bytes
    }
}

/// Changes numbers of EXIF data in place, so that everything else keeps its offset: cameras' own notes depend on it.
private struct EXIFEditor {
    private let layout: TIFFLayout

    init(_ layout: TIFFLayout) { self.layout = layout }

    /// Returns whether the data has a place for the orientation.
    func setOrientation(_ orientation: ImageOrientation, in bytes: inout [UInt8]) -> Bool {
        set(TIFFTag.orientation, to: orientation.rawValue, inDirectoryAt: layout.firstDirectory, of: &bytes)
    }

    /// See ``ImageMetadata/describing(_:as:)``.
    ///
    /// - Parameter colorSpace: EXIF's number; `nil` to keep that of the data.
    func describe(_ size: PixelSize, colorSpace: Int?, in bytes: inout [UInt8]) {
        let main = layout.firstDirectory
        set(TIFFTag.orientation, to: 1, inDirectoryAt: main, of: &bytes)
        set(TIFFTag.width, to: size.width, inDirectoryAt: main, of: &bytes)
        set(TIFFTag.height, to: size.height, inDirectoryAt: main, of: &bytes)
        let details = layout.entry(TIFFTag.exif, inDirectoryAt: main, of: bytes.span.bytes)
            .flatMap { layout.target(of: $0, in: bytes.span.bytes) }
        if let details {
            set(TIFFTag.exifWidth, to: size.width, inDirectoryAt: details, of: &bytes)
            set(TIFFTag.exifHeight, to: size.height, inDirectoryAt: details, of: &bytes)
            if let colorSpace { set(TIFFTag.colorSpace, to: colorSpace, inDirectoryAt: details, of: &bytes) }
        }
        removeThumbnail(behindDirectoryAt: main, of: &bytes)
    }

    /// Returns whether the directory has the number, signed or not.
    @discardableResult
    private func set(_ tag: Int, to number: Int, inDirectoryAt offset: Int, of bytes: inout [UInt8]) -> Bool {
        guard let entry = layout.entry(tag, inDirectoryAt: offset, of: bytes.span.bytes),
            [3, 4, 8, 9].contains(entry.type),
            entry.count == 1
        else { return false }
        put(number, count: TIFFLayout.byteCount(ofType: entry.type), at: entry.value.lowerBound, in: &bytes)
        return true
    }

    /// The second directory describes a thumbnail, which may show what was cropped.
    private func removeThumbnail(behindDirectoryAt offset: Int, of bytes: inout [UInt8]) {
        guard let (link, thumbnail) = layout.thumbnail(behindDirectoryAt: offset, in: bytes.span.bytes) else { return }
        bytes.replaceSubrange(thumbnail, with: repeatElement(0, count: thumbnail.count))
        put(0, count: 4, at: link, in: &bytes)
    }

    private func put(_ number: Int, count: Int, at offset: Int, in bytes: inout [UInt8]) {
        let new = number.littleEndianBytes(count)
        bytes.replaceSubrange(offset..<offset + count, with: layout.isBigEndian ? new.reversed() : new)
    }
}
