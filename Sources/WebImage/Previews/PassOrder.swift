import FoundationEssentials
import WebImageCore

/// In which order a file tells its pixels.
enum PassOrder {
    /// Row by row.
    case rows
    /// All of the picture coarsely, then finer: a progressive JPEG, an interlaced PNG.
    case coarseToFine

    /// As the first bytes of a file have it; `nil` while they are too few.
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

    /// A frame header stands before the first scan; what is larger than this before it is no photograph's metadata.
    private static let byteLimit = 1 << 20

    /// Goes from marker to marker until the frame header (ITU-T T.81, B.1.1.3 and table B.1).
    private static func jpegOrder(_ bytes: [UInt8]) -> PassOrder? {
        var position = 2
        while position + 3 < bytes.count {
            // Stray bytes between segments are passed over, as libjpeg does.
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
            // The length counts itself, even where it says less.
            default: position += 2 + max(2, Int(bytes[position + 2]) << 8 | Int(bytes[position + 3]))
            }
        }
        return nil
    }
}
