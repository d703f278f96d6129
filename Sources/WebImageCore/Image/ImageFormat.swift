package import FoundationEssentials

/// A kind of image file.
///
/// Formats are values, not enum cases, so that a codec outside this package can add its own:
///
/// ```swift
/// extension ImageFormat {
///     static let qoi = ImageFormat(name: "qoi", mimeType: "image/qoi", fileExtension: "qoi")
/// }
/// ```
public struct ImageFormat: Sendable, Hashable {
    /// A short name, such as `jpeg`.
    public let name: String
    /// The registered media type, such as `image/jpeg`.
    public let mimeType: String
    /// The usual file extension without its dot, such as `jpg`.
    public let fileExtension: String

    /// Creates a format.
    public init(name: String, mimeType: String, fileExtension: String) {
        self.name = name
        self.mimeType = mimeType
        self.fileExtension = fileExtension
    }

    /// JPEG (ITU-T T.81).
    public static let jpeg = ImageFormat(name: "jpeg", mimeType: "image/jpeg", fileExtension: "jpg")
    /// PNG, with or without animation (W3C PNG, third edition).
    public static let png = ImageFormat(name: "png", mimeType: "image/png", fileExtension: "png")
    /// GIF 87a and 89a.
    public static let gif = ImageFormat(name: "gif", mimeType: "image/gif", fileExtension: "gif")
    /// WebP: lossy, lossless, animated (RFC 9649).
    public static let webp = ImageFormat(name: "webp", mimeType: "image/webp", fileExtension: "webp")
    /// BMP: bitmaps of OS/2 and Windows.
    public static let bmp = ImageFormat(name: "bmp", mimeType: "image/bmp", fileExtension: "bmp")
    /// ICO and CUR: icons and cursors of Windows, in several sizes.
    public static let ico = ImageFormat(name: "ico", mimeType: "image/vnd.microsoft.icon", fileExtension: "ico")
    /// ICNS: icons of macOS, in several sizes.
    public static let icns = ImageFormat(name: "icns", mimeType: "image/icns", fileExtension: "icns")
    /// PBM, PGM, PPM and PAM (Netpbm).
    public static let pnm = ImageFormat(name: "pnm", mimeType: "image/x-portable-anymap", fileExtension: "pnm")
    /// QOI, the "Quite OK Image" format.
    public static let qoi = ImageFormat(name: "qoi", mimeType: "image/qoi", fileExtension: "qoi")
}

extension ImageFormat {
    /// The formats that this package supports, best compression first.
    package static let known: [ImageFormat] = [.webp, .jpeg, .png, .gif, .qoi, .bmp, .ico, .icns, .pnm]

    /// Detects the format from the signature at the beginning of `data`. File names and content types are ignored.
    ///
    /// 18 bytes are enough for every known format.
    package init?(signatureOf data: Data) {
        guard let format = data.withUnsafeBytes(Self.format(signature:)) else { return nil }
        self = format
    }

    private static func format(signature bytes: UnsafeRawBufferPointer) -> ImageFormat? {
        func has(_ text: StaticString, at offset: Int = 0) -> Bool {
            text.withUTF8Buffer { text in
                bytes.count >= offset + text.count && text.indices.allSatisfy { bytes[offset + $0] == text[$0] }
            }
        }
        func byte(_ offset: Int) -> UInt8? { offset < bytes.count ? bytes[offset] : nil }
        switch byte(0) {
        case 0xFF: return byte(1) == 0xD8 && byte(2) == 0xFF ? .jpeg : nil
        case 0x89: return has("PNG\r\n\u{1A}\n", at: 1) ? .png : nil
        case UInt8(ascii: "G"): return has("GIF87a") || has("GIF89a") ? .gif : nil
        case UInt8(ascii: "R"): return has("RIFF") && has("WEBP", at: 8) ? .webp : nil
        case UInt8(ascii: "B"): return has("BM") && isBitmapHeader(length: byte(14), byte(15)) ? .bmp : nil
        case 0:
            // Two types, at least one entry.
            guard byte(1) == 0, byte(3) == 0, byte(2) == 1 || byte(2) == 2, let low = byte(4), let high = byte(5) else {
                return nil
            }
            return low | high == 0 ? nil : .ico
        case UInt8(ascii: "i"): return has("icns") ? .icns : nil
        case UInt8(ascii: "P"):
            guard let kind = byte(1), (UInt8(ascii: "1")...UInt8(ascii: "7")).contains(kind), let end = byte(2) else {
                return nil
            }
            return [0x20, 0x09, 0x0A, 0x0D].contains(end) ? .pnm : nil
        case UInt8(ascii: "q"): return has("qoif") ? .qoi : nil
        default: return nil
        }
    }

    /// Whether a bitmap's second header has one of the known lengths: text may begin with "BM", too.
    private static func isBitmapHeader(length low: UInt8?, _ high: UInt8?) -> Bool {
        guard let low, high == 0 else { return false }
        return low == 12 || (16...64).contains(low) || [108, 124].contains(low)
    }

    /// Finds a known format by its name or file extension, in any case, with or without a leading dot: `png`, `.JPG`,
    /// `jpeg`.
    package init?(named name: String) {
        var wanted = (name.hasPrefix(".") ? String(name.dropFirst()) : name).lowercased()
        wanted = Self.aliases[wanted] ?? wanted
        guard let format = Self.known.first(where: { $0.name == wanted || $0.fileExtension == wanted }) else {
            return nil
        }
        self = format
    }

    /// Other file extensions.
    private static let aliases = [
        "jpe": "jpeg", "jfif": "jpeg", "apng": "png", "dib": "bmp", "cur": "ico", "pbm": "pnm", "pgm": "pnm",
        "ppm": "pnm", "pam": "pnm",
    ]
}
