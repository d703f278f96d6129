package import Foundation
import WebImageCoding
package import WebImageCore

/// Files with gain maps, written byte by byte as the standards say, and not with the library's writers.
package enum GainMapFiles {
    /// What a map's file and its image tell about it.
    package enum Description: Sendable, CaseIterable {
        case xmp
        case iso
        case both
    }

    /// Where an image tells that the map is.
    package enum Place: Sendable, CaseIterable {
        case index
        case directory
        /// The index leads elsewhere, as after a program has added metadata.
        case directoryBehindWrongIndex
    }

    /// A JPEG of an image and a map.
    ///
    /// - Parameters:
    ///   - image: a JPEG.
    ///   - map: a JPEG.
    package static func jpeg(
        _ image: Data, _ map: Data, iso: [UInt8] = iso(), xmp: String = mapXMP, described: Description = .both,
        at place: Place = .index, prefix: Data = Data()
    ) -> Data {
        var mapSegments = Data()
        if described != .iso { mapSegments += segment(0xE1, "http://ns.adobe.com/xap/1.0/\0", Data(xmp.utf8)) }
        if described != .xmp { mapSegments += segment(0xE2, "urn:iso:std:iso:ts:21496:-1\0", Data(iso)) }
        let mapFile = map.prefix(2) + mapSegments + map.dropFirst(2)

        var segments = prefix
        if place != .index || described != .iso {
            segments += segment(
                0xE1, "http://ns.adobe.com/xap/1.0/\0", Data(imageXMP(place == .index ? nil : mapFile.count).utf8))
        }
        if described != .xmp { segments += segment(0xE2, "urn:iso:std:iso:ts:21496:-1\0", Data([0, 0, 0, 0])) }
        guard place != .directory else { return image.prefix(2) + segments + image.dropFirst(2) + mapFile }
        // Little-endian: the version, the number of images, and two entries at offset 50.
        func index(_ imageLength: Int, _ mapOffset: Int) -> Data {
            var bytes = Data("II*\0".utf8) + little(8, 4) + little(3, 2)
            bytes += little(0xB000, 2) + little(7, 2) + little(4, 4) + Data("0100".utf8)
            bytes += little(0xB001, 2) + little(4, 2) + little(1, 4) + little(2, 4)
            bytes += little(0xB002, 2) + little(7, 2) + little(32, 4) + little(50, 4) + little(0, 4)
            bytes += little(0x030000, 4) + little(imageLength, 4) + little(0, 8)
            return bytes + little(0, 4) + little(mapFile.count, 4) + little(mapOffset, 4) + little(0, 4)
        }
        let length = image.count + segments.count + 8 + index(0, 0).count
        let start = 2 + segments.count + 8
        let offset = length - start + (place == .index ? 0 : 777)
        segments += segment(0xE2, "MPF\0", index(length, offset))
        return image.prefix(2) + segments + image.dropFirst(2) + mapFile
    }

    /// The structure of ISO 21496-1 with one channel: gains from 1/2 to 8, for displays from 1 to 8 times as bright as white.
    package static func iso(flags: UInt8 = 0x40, channels: Int = 1) -> [UInt8] {
        var bytes: [UInt8] = [0, 0, 0, 0, flags]
        for number in [0, 1, 3, 1] + Array(repeating: [-1, 1, 6, 2, 3, 2, 1, 64, 1, 32], count: channels).joined() {
            bytes += big(number, 4)
        }
        return bytes
    }

    /// The same as ``iso(flags:channels:)``.
    package static let mapXMP = """
        <x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
        <rdf:Description rdf:about='' xmlns:hdrgm='http://ns.adobe.com/hdr-gain-map/1.0/' hdrgm:Version='1.0'
        hdrgm:GainMapMin='-1' hdrgm:GainMapMax='3' hdrgm:Gamma='1.5' hdrgm:OffsetHDR='0.03125' hdrgm:HDRCapacityMax='3'/>
        </rdf:RDF></x:xmpmeta>
        """

    private static func imageXMP(_ mapLength: Int?) -> String {
        let items = mapLength.map { length in
            """
            <Container:Directory><rdf:Seq>
            <rdf:li rdf:parseType='Resource'><Container:Item Item:Semantic='Primary' Item:Mime='image/jpeg'/></rdf:li>
            <rdf:li rdf:parseType='Resource'><Container:Item Item:Mime='image/jpeg' Item:Semantic='GainMap' Item:Length='\(length)'/>
            </rdf:li></rdf:Seq></Container:Directory>
            """
        }
        return """
            <x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
            <rdf:Description rdf:about='' xmlns:hdrgm='http://ns.adobe.com/hdr-gain-map/1.0/'
            xmlns:Container='http://ns.google.com/photos/1.0/container/'
            xmlns:Item='http://ns.google.com/photos/1.0/container/item/' hdrgm:Version='1.0'>\(items ?? "")</rdf:Description>
            </rdf:RDF></x:xmpmeta>
            """
    }

    package static func segment(_ marker: UInt8, _ signature: String, _ content: Data) -> Data {
        let length = 2 + signature.utf8.count + content.count
        return Data([0xFF, marker, UInt8(length >> 8), UInt8(length & 255)]) + Data(signature.utf8) + content
    }

    package static func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func little(_ number: Int, _ count: Int) -> Data { Data(big(number, count).reversed()) }

    /// A picture whose pixels all differ: red grows to the right, green down.
    package static func picture(width: Int, height: Int, isGray: Bool = false) throws -> Image {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        let bytesPerRow = pixels.bytesPerRow
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    let (across, down) = (UInt8(255 * x / width), UInt8(255 * y / height))
                    let gray = UInt8((Int(across) + Int(down) * 2) / 3)
                    let color = isGray ? [gray, gray, gray, 255] : [across, down, 90, 255]
                    for channel in 0..<4 { bytes[y * bytesPerRow + x * 4 + channel] = color[channel] }
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    /// A JPEG of ``picture(width:height:isGray:)``.
    package static func jpegPicture(width: Int, height: Int, isGray: Bool = false) throws -> Data {
        var options = EncodingOptions(quality: 0.95)
        options.chroma = isGray ? .gray : .full
        return try CodecRegistry().encode(
            picture(width: width, height: height, isGray: isGray), as: .jpeg, options: options)
    }

    /// An Ultra HDR of 64 × 48 pixels with a map of a quarter of its sides.
    package static func ultraHDR(
        width: Int = 64, height: Int = 48, described: Description = .both, at place: Place = .index
    ) throws -> Data {
        jpeg(
            try jpegPicture(width: width, height: height),
            try jpegPicture(width: width / 4, height: height / 4, isGray: true),
            described: described, at: place)
    }
}
