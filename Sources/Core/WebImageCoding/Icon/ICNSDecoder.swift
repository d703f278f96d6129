import FoundationEssentials
package import WebImageCore

/// Decodes ICNS: PNG, JPEG 2000 with a decoder for it, and compressed channels with 8 bits.
///
///     "icns" │ length │ type │ length │ image │ type │ length │ image …
///
/// Images of fewer colors, which no program has written for twenty years, are ignored.
package struct ICNSDecoder: IconDecoder {
    package let jpeg2000: (any ImageDecoder)?

    package init(jpeg2000: (any ImageDecoder)? = nil) { self.jpeg2000 = jpeg2000 }

    package var format: ImageFormat { .icns }

    /// The side of the images of each type. Those of "retina" screens have their real size here.
    private static let sides: [String: Int] = [
        "ic04": 16, "ic05": 32, "ic07": 128, "ic08": 256, "ic09": 512, "ic10": 1024, "ic11": 32, "ic12": 64,
        "ic13": 256, "ic14": 512, "icp4": 16, "icp5": 32, "icp6": 64, "icsb": 18, "icsB": 36, "sb24": 24, "SB24": 48,
        "is32": 16, "il32": 32, "ih32": 48, "it32": 128,
    ]
    /// The masks of images of 24 bits.
    private static let masks = ["is32": "s8mk", "il32": "l8mk", "ih32": "h8mk", "it32": "t8mk"]
    private static let maskNames = Set(masks.values)

    /// As many as an ICO can have; further ones are ignored.
    static let entryLimit = 65_535

    func entries(of data: Data, isPrefix: Bool) throws(WebImageError) -> [IconEntry] {
        let bytes = data.bytes
        guard let length = bytes.integer(at: 4, count: 4, isBigEndian: true) else { throw format.truncated }
        // One pass: empty entries take eight bytes, so that a small file can have a million.
        var images: [(name: String, range: Range<Int>)] = []
        var masks: [String: Range<Int>] = [:]
        var offset = 8
        while offset + 8 <= length {
            guard let count = bytes.integer(at: offset + 4, count: 4, isBigEndian: true) else { break }
            guard count >= 8, offset <= length - count else { throw format.corrupt("a part of \(count) bytes") }
            let name = String(decoding: (0..<4).compactMap { bytes.byte(at: offset + $0) }, as: UTF8.self)
            let range = offset + 8..<offset + count
            if Self.sides[name] != nil {
                if images.count < Self.entryLimit { images.append((name, range)) }
            } else if Self.maskNames.contains(name), masks[name] == nil {
                masks[name] = range
            }
            offset += count
        }
        if isPrefix, offset + 8 <= length { throw format.truncated }
        var entries: [IconEntry] = []
        for (name, range) in images {
            guard let side = Self.sides[name] else { continue }
            if isPrefix, range.lowerBound + 8 > bytes.byteCount { throw format.truncated }
            let mask = Self.masks[name].flatMap { masks[$0] }
            guard
                let content = content(at: range.lowerBound, of: bytes, name: name, mask: mask)
            else { continue }
            entries.append(
                IconEntry(
                    size: PixelSize(width: side, height: side), bitsPerPixel: 32, content: content, range: range))
        }
        guard !entries.isEmpty else {
            throw data.count < length ? format.truncated : format.unsupported("an icon without an image of 24 bits")
        }
        return entries
    }

    /// `nil` for a format that nothing reads.
    private func content(
        at offset: Int, of bytes: RawSpan, name: String, mask: Range<Int>?
    ) -> IconEntry.Content? {
        if bytes.hasText("PNG", at: offset + 1) { return .file(PNGDecoder()) }
        if bytes.hasText("jP  ", at: offset + 4)
            || bytes.integer(at: offset, count: 4, isBigEndian: true) == 0xFF4F_FF51
        {
            return jpeg2000.map { .file($0) }
        }
        if Self.masks[name] != nil { return .channels(mask: mask) }
        return bytes.hasText("ARGB", at: offset) ? .channels(mask: nil) : nil
    }
}

/// The channels of an image, one after the other, each compressed in runs:
///
/// - 0 to 127: so many bytes and one more follow.
/// - 128 to 255: the next byte, repeated 3 times more than the number exceeds 128.
struct ICNSChannels: StillFile {
    let size: PixelSize
    private let data: Data
    private let mask: Data?
    /// Alpha is the first of four channels.
    private let hasOwnAlpha: Bool

    init(_ data: Data, mask: Data?, size: PixelSize) {
        (self.data, self.mask, self.size) = (data, mask, size)
        hasOwnAlpha = data.bytes.hasText("ARGB", at: 0)
    }

    var hasAlpha: Bool { hasOwnAlpha || mask != nil }
    var workingByteCount: Int { size.pixelByteCount }

    func pixels(
        allowsDamage: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, damage: WebImageError?) {
        let pixelCount = size.pixelCount
        let channels = try channels(pixelCount)
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        let alpha = mask.flatMap { $0.count >= pixelCount ? Array($0.prefix(pixelCount)) : nil }
        let (_, isOpaque) = try buffer.fillRows(0..<size.height, hasAlpha: hasAlpha, cancellation: cancellation) {
            (row, pixels) in
            for column in 0..<size.width {
                let (index, first) = (row * size.width + column, hasOwnAlpha ? 1 : 0)
                for channel in 0..<3 { pixels[column * 4 + channel] = channels[first + channel][index] }
                pixels[column * 4 + 3] = hasOwnAlpha ? channels[0][index] : alpha?[index] ?? 255
            }
            return true
        }
        return (buffer.freeze(isOpaque: isOpaque), nil)
    }

    private func channels(_ pixelCount: Int) throws(WebImageError) -> [[UInt8]] {
        let channelCount = hasOwnAlpha ? 4 : 3
        let bytes = Array(data)
        // Images of 128 × 128 begin with four bytes of 0.
        var offset = hasOwnAlpha ? 4 : size.width == 128 && bytes.prefix(4).allSatisfy { $0 == 0 } ? 4 : 0
        var channels: [[UInt8]] = []
        for _ in 0..<channelCount {
            var channel: [UInt8] = []
            channel.reserveCapacity(pixelCount)
            while channel.count < pixelCount {
                guard offset < bytes.count else { throw ImageFormat.icns.truncated }
                let tag = Int(bytes[offset])
                let room = pixelCount - channel.count
                if tag < 128 {
                    guard offset + 1 + tag < bytes.count else { throw ImageFormat.icns.truncated }
                    channel += bytes[offset + 1...offset + 1 + tag].prefix(room)
                    offset += tag + 2
                } else {
                    guard offset + 1 < bytes.count else { throw ImageFormat.icns.truncated }
                    channel += repeatElement(bytes[offset + 1], count: min(tag - 125, room))
                    offset += 2
                }
            }
            channels.append(channel)
        }
        return channels
    }
}
