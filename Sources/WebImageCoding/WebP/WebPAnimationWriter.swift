internal import FoundationEssentials
internal import WebImageCore

/// Puts an animated WebP together, chunk by chunk (RFC 9649): see ``WebPFile`` for their order.
struct WebPAnimationWriter {
    private var file = Data()
    private var hasAlpha = false

    /// - Parameter loopCount: 0 for ever; 16 bits are there for it.
    init(size: PixelSize, loopCount: Int) {
        file.append(contentsOf: "RIFF\0\0\0\0WEBP".utf8)
        // What flags there are is known in the end.
        append("VP8X", [0, 0, 0, 0] + Self.bytes(of: size.width - 1, 3) + Self.bytes(of: size.height - 1, 3))
        // A clear background.
        append("ANIM", [0, 0, 0, 0] + Self.bytes(of: min(max(loopCount, 0), 0xFFFF), 2))
    }

    /// Adds a frame.
    ///
    /// - Parameter picture: a still, whose chunks become the frame's.
    mutating func append(
        _ picture: Data, of patch: FramePatch, blend: FramePart.Blend, milliseconds: Int
    ) throws(WebImageError) {
        let area = patch.area
        var content = Self.bytes(of: area.columns.lowerBound / 2, 3) + Self.bytes(of: area.rows.lowerBound / 2, 3)
        content += Self.bytes(of: area.columns.count - 1, 3) + Self.bytes(of: area.rows.count - 1, 3)
        content += Self.bytes(of: milliseconds, 3)
        content.append((blend == .source ? 2 : 0) | (patch.disposal == .clear ? 1 : 0))
        let still = try WebPFile(reading: picture.bytes)
        hasAlpha = hasAlpha || still.hasAlpha || !patch.frame.isOpaque
        append("ANMF", content, Self.frameChunks(of: picture))
    }

    /// The whole file.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)`` where it is longer than its header can say.
    mutating func finish() throws(WebImageError) -> Data {
        guard file.count <= UInt32.max - 1 else {
            throw .encoding(format: .webp, reason: .tooLong(byteCount: file.count, limit: Int(UInt32.max - 1)))
        }
        file.replaceSubrange(4..<8, with: Self.bytes(of: file.count - 8, 4))
        file[Self.flagsOffset] = Self.animationFlag | (hasAlpha ? Self.alphaFlag : 0)
        return file
    }

    private mutating func append(_ name: String, _ content: [UInt8], _ rest: Data = Data()) {
        file.append(contentsOf: name.utf8)
        file.append(contentsOf: Self.bytes(of: content.count + rest.count, 4))
        file.append(contentsOf: content)
        file.append(rest)
        if (content.count + rest.count) % 2 == 1 { file.append(0) }
    }

    /// The chunks of a still behind its header: alpha, if it has some, and the picture.
    private static func frameChunks(of still: Data) -> Data {
        let data = still.bytes
        guard data.hasText("VP8X", at: 12), let length = data.integer(at: 16, count: 4, isBigEndian: false) else {
            return still.dropFirst(12)
        }
        return still.dropFirst(20 + length + length % 2)
    }

    /// Lowest first.
    private static func bytes(of number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static let flagsOffset = 20
    private static let animationFlag: UInt8 = 2
    private static let alphaFlag: UInt8 = 16
}
