import FoundationEssentials
import WebImageCore

/// Finds the gain map of a JPEG: a second JPEG behind it.
///
///     SOI │ APP1: XMP │ APP2: ISO 21496-1 │ APP2: index of images │ … │ EOI │ SOI │ APP1: XMP │ APP2: ISO 21496-1 │ … │ EOI
///           directory                                                 └─ the map
extension JPEGDecoder: GainMapDecoder {
    package func gainMap(of data: Data) throws(WebImageError) -> StoredGainMap? {
        let header = try JPEGHeader(reading: data.bytes)
        for range in Self.otherImages(of: header, in: data.bytes) {
            if let map = Self.map(
                data[data.startIndex + range.lowerBound..<data.startIndex + range.upperBound], header, in: data.bytes)
            {
                return map
            }
        }
        return nil
    }

    /// Whether a map follows that only its own file tells of.
    static func hasAppleGainMap(_ header: JPEGHeader, in data: Data) -> Bool {
        indexedImages(header, in: data.bytes).contains { range in
            guard let own = try? JPEGHeader(reading: data.bytes.extracting(range)), let xmp = own.metadata.xmp else {
                return false
            }
            return data.bytes.extracting(range).extracting(xmp).firstOffset(of: AppleGainMap.version, from: 0) != nil
        }
    }

    /// Where images behind the first one may be. Programs that change metadata often leave one of the two lists as it is, which then leads
    /// elsewhere.
    static func otherImages(of header: JPEGHeader, in data: RawSpan) -> [Range<Int>] {
        indexedImages(header, in: data) + listedImages(header, in: data)
    }

    /// Those of the index, whose offsets count from its TIFF structure (CIPA DC-007, 5.2.3).
    private static func indexedImages(_ header: JPEGHeader, in data: RawSpan) -> [Range<Int>] {
        guard let index = header.pictureIndex else { return [] }
        let bytes = data.extracting(index)
        guard let layout = TIFFLayout(bytes),
            let entry = layout.entry(imagesTag, inDirectoryAt: layout.firstDirectory, of: bytes)
        else { return [] }
        return (1..<max(1, min(entry.value.count / imageEntryByteCount, imageLimit))).compactMap { image in
            let start = entry.value.lowerBound + image * imageEntryByteCount
            guard let length = layout.integer(at: start + 4, count: 4, in: bytes),
                let offset = layout.integer(at: start + 8, count: 4, in: bytes)
            else { return nil }
            return rest(from: index.lowerBound + offset, length, of: data.byteCount)
        }
    }

    /// Those of the directory in XMP: they are at the end of the file, one after the other.
    private static func listedImages(_ header: JPEGHeader, in data: RawSpan) -> [Range<Int>] {
        guard let xmp = header.metadata.xmp else { return [] }
        let packet = XMPPacket(data.extracting(xmp).withUnsafeBytes { Array($0) })
        var (end, images): (Int, [Range<Int>]) = (data.byteCount, [])
        for item in packet.attributes("Semantic", "Length", in: .containerItem).suffix(imageLimit).reversed() {
            guard let length = item.second.flatMap({ Int($0) }), length > 0, length <= end else { break }
            end -= length
            if item.first == "GainMap" { images.append(end..<end + length) }
        }
        return images
    }

    private static func rest(from start: Int, _ length: Int, of count: Int) -> Range<Int>? {
        guard start > 0, length > 0, start <= count, length <= count - start else { return nil }
        return start..<start + length
    }

    /// The image in `file`, if it is a gain map.
    private static func map(_ file: Data, _ header: JPEGHeader, in data: RawSpan) -> StoredGainMap? {
        guard ImageFormat(signatureOf: file) == .jpeg, let own = try? JPEGHeader(reading: file.bytes) else {
            return nil
        }
        let packet = own.metadata.xmp.map { range in
            XMPPacket(file.bytes.extracting(range).withUnsafeBytes { Array($0) })
        }
        let iso = own.gainMapSegment.flatMap { GainMapMetadata(iso: file.bytes.extracting($0)) }
        var encoding = StoredGainMap.Encoding.iso
        var metadata = iso ?? packet.flatMap { GainMapMetadata(xmp: $0) }
        if metadata == nil, let packet {
            metadata = AppleGainMap.metadata(
                packet,
                exif: header.metadata.exif.map { bytes in
                    Data(data.extracting(bytes).withUnsafeBytes { Array($0) })
                })
            encoding = .linear
        }
        guard let metadata, let image = plain(file, as: header.orientation) else { return nil }
        let colors =
            metadata.usesBaseColors
            ? ColorConversion(from: header.colorEncoding(in: data), model: header.colorModel).isIdentity
                ? nil : header.colorProfile(in: data)
            : own.colorProfile(in: file.bytes)
        return StoredGainMap(
            file: image, metadata: metadata, colors: colors.map(GainMapColors.profile), encoding: encoding)
    }

    /// Returns a file without profiles and other metadata than the orientation.
    private static func plain(_ file: Data, as orientation: ImageOrientation) -> Data? {
        guard let (segments, scan) = JPEGHeader.segments(of: file.bytes) else { return nil }
        var result = Data(file.prefix(2))
        // JFIF and Adobe tell how colors are stored.
        for segment in segments where !(0xE1...0xED).contains(segment.marker) && ![0xEF, 0xFE].contains(segment.marker)
        {
            result.append(file[file.startIndex + segment.range.lowerBound..<file.startIndex + segment.range.upperBound])
        }
        result.append(file.dropFirst(scan))
        return orientation == .up ? result : ImageMetadata.oriented(result, as: orientation)
    }

    private static let imagesTag = 0xB002
    private static let imageEntryByteCount = 16
    private static let imageLimit = 17
}

// MARK: Writing

extension GainMap {
    /// Returns a JPEG with the map behind it, as both Ultra HDR and ISO 21496-1 have it.
    func added(toJPEG image: Data, _ map: Data) throws(WebImageError) -> Data {
        let map = try mapFile(map)
        let image = Self.addingDirectory(to: image, mapByteCount: map.count)
        let start = try Self.endOfMetadata(inJPEG: image)
        // The versions.
        let versions = try ImageMetadata.segment(0xE2, JPEGHeader.gainMapSignature, Data([0, 0, 0, 0]))
        let signature = JPEGHeader.pictureIndexSignature
        let indexByteCount = 4 + signature.utf8CodeUnitCount + Self.pictureIndex(0, 0, 0).count
        let imageByteCount = image.count + versions.count + indexByteCount
        let indexStart = start + versions.count + 4 + signature.utf8CodeUnitCount
        let index = try ImageMetadata.segment(
            0xE2, signature, Data(Self.pictureIndex(imageByteCount, map.count, imageByteCount - indexStart)))
        return image.prefix(start) + versions + index + image.dropFirst(start) + map
    }

    private func mapFile(_ map: Data) throws(WebImageError) -> Data {
        var segments = try ImageMetadata.segment(0xE1, JPEGHeader.xmpSignature, metadata.xmp)
        segments.append(try ImageMetadata.segment(0xE2, JPEGHeader.gainMapSignature, Data(metadata.iso)))
        // That of the brighter image.
        if let profile = colors?.profile, profile.bytes.count <= Self.profileLimit {
            segments.append(
                try ImageMetadata.segment(0xE2, JPEGHeader.profileSignature, Data([1, 1] + profile.bytes)))
        }
        let start = ImageMetadata.startOfSegments(inJPEG: map)
        return map.prefix(start) + segments + map.dropFirst(start)
    }

    /// Of one segment.
    private static let profileLimit = 65_000

    /// Adds the directory to the image's packet, unless that is too long then: the index and ISO 21496-1 are enough.
    private static func addingDirectory(to image: Data, mapByteCount: Int) -> Data {
        let description = GainMapMetadata.directory(mapByteCount: mapByteCount)
        let own = (try? JPEGHeader(reading: image.bytes))?.metadata.xmp.map { range in
            XMPPacket(image.bytes.extracting(range).withUnsafeBytes { Array($0) })
        }
        guard let own else {
            let packet = XMPPacket.packet(of: description)
            // EXIF comes first.
            guard let start = try? endOfMetadata(inJPEG: image),
                let segment = try? ImageMetadata.segment(0xE1, JPEGHeader.xmpSignature, packet)
            else { return image }
            return image.prefix(start) + segment + image.dropFirst(start)
        }
        guard let packet = own.adding(description: description) else { return image }
        return (try? ImageMetadata(xmp: Data(packet)).replaced(inJPEG: image)) ?? image
    }

    /// Where the segments of JFIF, EXIF and XMP end.
    private static func endOfMetadata(inJPEG file: Data) throws(WebImageError) -> Int {
        guard let (segments, _) = JPEGHeader.segments(of: file.bytes) else {
            throw .encoding(format: .jpeg, reason: .codec("no scan"))
        }
        return segments.prefix { [0xE0, 0xE1].contains($0.marker) }.last?.range.upperBound ?? 2
    }

    /// The index of two images (CIPA DC-007, 5): the version, their number, and for each what it is, its length and its offset.
    private static func pictureIndex(_ imageByteCount: Int, _ mapByteCount: Int, _ mapOffset: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(text: "MM")
        bytes.append(number: 42, 2)
        bytes.append(number: 8, 4)
        bytes.append(number: 3, 2)
        func append(tag: Int, type: Int, count: Int) {
            bytes.append(number: tag, 2)
            bytes.append(number: type, 2)
            bytes.append(number: count, 4)
        }
        append(tag: 0xB000, type: 7, count: 4)
        bytes.append(text: "0100")
        append(tag: 0xB001, type: 4, count: 1)
        bytes.append(number: 2, 4)
        append(tag: 0xB002, type: 7, count: 32)
        // Behind this and the offset of the next directory, of which there is none.
        bytes.append(number: bytes.count + 8, 4)
        bytes.append(number: 0, 4)
        // The image to show, which is the first; the other one has no purpose that the standard knows.
        bytes.append(number: 0x2003_0000, 4)
        bytes.append(number: imageByteCount, 4)
        bytes.append(number: 0, 8)
        bytes.append(number: 0, 4)
        bytes.append(number: mapByteCount, 4)
        bytes.append(number: mapOffset, 4)
        bytes.append(number: 0, 4)
        return bytes
    }
}
