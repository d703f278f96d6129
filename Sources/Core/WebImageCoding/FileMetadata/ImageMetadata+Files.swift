public import FoundationEssentials
public import WebImageCore

/// A decoder that reads EXIF and XMP.
package protocol MetadataDecoder: ImageDecoder {
    /// Returns the metadata of a file, as it is stored.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``.
    func metadata(of data: Data) throws(WebImageError) -> ImageMetadata
}

extension JPEGDecoder: MetadataDecoder {
    package func metadata(of data: Data) throws(WebImageError) -> ImageMetadata {
        ImageMetadata(in: data, try JPEGHeader(reading: data.bytes).metadata)
    }
}

extension PNGDecoder: MetadataDecoder {
    package func metadata(of data: Data) throws(WebImageError) -> ImageMetadata {
        ImageMetadata(in: data, try PNGHeader(reading: data.bytes).metadata)
    }
}

extension WebPDecoder: MetadataDecoder {
    func metadata(of data: Data) throws(WebImageError) -> ImageMetadata {
        ImageMetadata(in: data, try WebPFile(reading: data.bytes).metadata)
    }
}

extension ImageMetadata {
    fileprivate init(in data: Data, _ ranges: MetadataRanges) {
        func bytes(_ range: Range<Int>) -> Data { Data(data.dropFirst(range.lowerBound).prefix(range.count)) }
        self.init(storedEXIF: ranges.exif.map(bytes), xmp: ranges.xmp.map(bytes))
    }
}

extension EncodingOptions {
    /// Returns `file` with ``metadata`` and, if required, a profile, where the format's container is ours.
    func addingMetadata(
        to file: Data, _ size: PixelSize, as format: ImageFormat
    ) throws(WebImageError) -> Data {
        let metadata = try metadata?.describing(size, as: format, isSRGB: colorProfile == nil)
        let profile = writtenProfile
        guard metadata != nil || profile != nil else { return file }
        let added = metadata ?? ImageMetadata()
        switch format {
        case .jpeg: return try added.added(toJPEG: file, profile: profile)
        case .png: return try added.added(toPNG: file, profile: colorProfile?.bytes)
        case .webp: return try added.added(toWebP: file, size, profile: profile)
        default: return file
        }
    }
}

extension ImageMetadata {
    /// Puts segments behind the first one, which is JFIF's.
    fileprivate func added(toJPEG file: Data, profile: [UInt8]?) throws(WebImageError) -> Data {
        let end = Self.startOfSegments(inJPEG: file)
        var result = Data(file.prefix(end))
        if let exif { result.append(try Self.segment(0xE1, TIFFLayout.prefix, exif)) }
        if let xmp { result.append(try Self.segment(0xE1, JPEGHeader.xmpSignature, xmp)) }
        for segment in try Self.profileSegments(profile ?? []) { result.append(segment) }
        result.append(file.dropFirst(end))
        return result
    }

    /// Each has its number, from 1, and the number of all (ICC.1:2022, B.4).
    private static func profileSegments(_ profile: [UInt8]) throws(WebImageError) -> [Data] {
        let signature = JPEGHeader.profileSignature
        let length = Int(UInt16.max) - 2 - signature.utf8CodeUnitCount - 2
        let count = (profile.count + length - 1) / length
        guard count <= UInt8.max else {
            throw .encoding(
                format: .jpeg,
                reason: .metadataTooLong(byteCount: profile.count, limit: length * Int(UInt8.max)))
        }
        var segments: [Data] = []
        for index in 0..<count {
            let piece = profile[index * length..<min((index + 1) * length, profile.count)]
            segments.append(try segment(0xE2, signature, Data([UInt8(index + 1), UInt8(count)] + piece)))
        }
        return segments
    }

    /// Returns a JPEG with this EXIF and XMP in place of its own, or behind JFIF's segment. Everything else stays byte by byte, also what
    /// is `nil` here, so that nothing is decoded and encoded again.
    ///
    /// ```swift
    /// let metadata = try CodecRegistry.shared.metadata(of: data)
    /// let turned = try metadata.withOrientation(.right)?.replaced(inJPEG: data)
    /// ```
    ///
    /// - Throws: ``WebImageError/EncodingFailure/metadataTooLong(byteCount:limit:)``, or an error of the file's header.
    public func replaced(inJPEG file: Data) throws(WebImageError) -> Data {
        var result = Data(file)
        let own = try JPEGHeader(reading: result.bytes).metadata
        let start = Self.startOfSegments(inJPEG: result)
        var changes: [(range: Range<Int>, segment: Data)] = []
        // Before the content of a segment are its marker and its length.
        if let exif {
            let range = own.exif.map { $0.lowerBound - 4..<$0.upperBound } ?? start..<start
            changes.append((range, try Self.segment(0xE1, TIFFLayout.prefix, exif)))
        }
        if let xmp {
            let signature = JPEGHeader.xmpSignature
            let range = own.xmp.map { $0.lowerBound - signature.utf8CodeUnitCount - 4..<$0.upperBound } ?? start..<start
            changes.append((range, try Self.segment(0xE1, signature, xmp)))
        }
        // From the end, so that the other places stay.
        for change in changes.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            result.replaceSubrange(change.range, with: change.segment)
        }
        return result
    }

    /// Returns a JPEG with EXIF that has nothing but an orientation before all other segments: the first one counts.
    static func oriented(_ file: Data, as orientation: ImageOrientation) -> Data {
        let exif = Self.exif(orientation)
        let length = 2 + TIFFLayout.prefix.utf8CodeUnitCount + exif.count
        return file.prefix(2) + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)]
            + TIFFLayout.prefix.withUTF8Buffer { Data($0) } + exif + file.dropFirst(2)
    }

    /// Where segments can be added: behind the file's first marker, and that of JFIF.
    static func startOfSegments(inJPEG file: Data) -> Int {
        guard file.bytes.byte(at: 3) == 0xE0, let length = file.bytes.integer(at: 4, count: 2, isBigEndian: true),
            length >= 2
        else { return 2 }
        return 4 + length
    }

    static func segment(
        _ marker: UInt8, _ signature: StaticString, _ content: Data
    ) throws(WebImageError) -> Data {
        let length = 2 + signature.utf8CodeUnitCount + content.count
        guard length <= UInt16.max else {
            throw .encoding(
                format: .jpeg,
                reason: .metadataTooLong(byteCount: content.count, limit: Int(UInt16.max) - length + content.count))
        }
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + signature.withUTF8Buffer { Data($0) }
            + content
    }

    /// Puts chunks behind the header. All PNG of ours say that they are sRGB, in the first chunk; a profile replaces that.
    fileprivate func added(toPNG file: Data, profile: [UInt8]?) throws(WebImageError) -> Data {
        var result = PNGFileWriter(Data(file.prefix(Self.pngHeaderByteCount)))
        var rest = file.dropFirst(Self.pngHeaderByteCount)
        if let profile {
            if file.bytes.hasText("sRGB", at: Self.pngHeaderByteCount + 4) { rest = rest.dropFirst(13) }
            // A name, and no compression method but zlib's.
            result.append(.profile, Array("ICC profile".utf8) + [0, 0], try PNGPixelEncoder.deflated(profile))
        }
        if let exif { result.append(.exif, [], exif) }
        if let xmp {
            let keyword = PNGHeader.xmpKeyword.withUTF8Buffer { Array($0) }
            // No compression method, no language, no translated keyword.
            result.append(.text, keyword + [0, 0, 0], xmp)
        }
        result.append(rest)
        return result.data
    }

    /// The signature, and IHDR with its checksum.
    private static let pngHeaderByteCount = 33

    /// Adds ICCP behind the VP8X chunk, which a plain still gets here, and EXIF and XMP at the end.
    fileprivate func added(
        toWebP file: Data, _ size: PixelSize, profile: [UInt8]?
    ) throws(WebImageError) -> Data {
        let isPlain = !file.bytes.hasText("VP8X", at: 12)
        typealias Writer = WebPChunkWriter
        var flags = isPlain ? 0 : file.bytes.byte(at: 20) ?? 0
        if isPlain, try WebPFile(reading: file.bytes).hasAlpha { flags |= Writer.alphaFlag }
        flags |= exif == nil ? 0 : Writer.exifFlag
        flags |= xmp == nil ? 0 : Writer.xmpFlag
        flags |= profile == nil ? 0 : Writer.profileFlag
        var result = Writer()
        let sides = [size.width, size.height].flatMap { Writer.bytes(of: $0 - 1, 3) }
        result.append("VP8X", [flags, 0, 0, 0] + sides)
        if let profile { result.append("ICCP", profile) }
        result.append(chunks: file.dropFirst(isPlain ? 12 : 30))
        if let exif { result.append("EXIF", [], exif) }
        if let xmp { result.append("XMP ", [], xmp) }
        return try result.finish()
    }
}
