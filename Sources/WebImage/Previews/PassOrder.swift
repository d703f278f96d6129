import FoundationEssentials
import WebImageCore

/// The order in which a file stores its pixels.
enum PassOrder {
    /// Row by row.
    case rows
    /// The whole image coarsely, then finer: a progressive JPEG, an interlaced PNG.
    case coarseToFine

    /// Reads the order from the first bytes of a file; `nil` if more bytes are needed.
    init?(startOf data: Data) {
        let bytes = [UInt8](data.prefix(Self.byteLimit))
        switch ImageFormat(signatureOf: data) {
        // The interlace method is the last byte of the first chunk (PNG, 11.2.1).
        case .png where bytes.count > 28: self = bytes[28] == 1 ? .coarseToFine : .rows
        case .png: return nil
        case .jpeg:
            guard let order = Self.jpegOrder(bytes) else {
                guard bytes.count >= Self.byteLimit else { return nil }
                self = .rows
                return
            }
            self = order
        case nil where bytes.count < 12: return nil
        default: self = .rows
        }
    }

    /// The frame header precedes the first scan. Photographs have less metadata than this before it.
    private static let byteLimit = 1 << 20

    /// Walks the markers up to the frame header (ITU-T T.81, B.1.1.3 and table B.1).
    private static func jpegOrder(_ bytes: [UInt8]) -> PassOrder? {
        var position = 2
        while position + 3 < bytes.count {
            // Stray bytes between segments are skipped, as in libjpeg.
            guard bytes[position] == 0xFF else {
                position += 1
                continue
            }
            let marker = bytes[position + 1]
            switch marker {
            case 0xFF: position += 1
            case 0x00: position += 2
            case 0x01, 0xD0...0xD7: position += 2
            case 0xC2, 0xC6, 0xCA, 0xCE: return .coarseToFine
            case 0xC0, 0xC1, 0xC3, 0xC5, 0xC7, 0xC9, 0xCB, 0xCD, 0xCF, 0xD9, 0xDA: return .rows
            // The length includes its own two bytes, even if the file says less.
            default: position += 2 + max(2, Int(bytes[position + 2]) << 8 | Int(bytes[position + 3]))
            }
        }
        return nil
    }
}
