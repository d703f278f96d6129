public import FoundationEssentials

/// A kind of image file.
///
/// Formats are values, not enum cases, so that a codec outside this package can add its own:
///
/// ```swift
/// extension ImageFormat {
///     static let qoi = ImageFormat(name: "qoi", mimeType: "image/qoi", fileExtension: "qoi")
/// }
/// ```
public struct ImageFormat: Codable, Sendable, Hashable {
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
    /// AVIF, stills and sequences. Decoded by the program `webimage-decoder`, like those below.
    public static let avif = ImageFormat(name: "avif", mimeType: "image/avif", fileExtension: "avif")
    /// HEIC and HEIF.
    public static let heic = ImageFormat(name: "heic", mimeType: "image/heic", fileExtension: "heic")
    /// JPEG XL, stills and animations (ISO/IEC 18181).
    public static let jpegXL = ImageFormat(name: "jxl", mimeType: "image/jxl", fileExtension: "jxl")
    /// TIFF and BigTIFF.
    public static let tiff = ImageFormat(name: "tiff", mimeType: "image/tiff", fileExtension: "tiff")
    /// JPEG 2000, as a file or a codestream (ISO/IEC 15444).
    public static let jpeg2000 = ImageFormat(name: "jp2", mimeType: "image/jp2", fileExtension: "jp2")
    /// SVG.
    public static let svg = ImageFormat(name: "svg", mimeType: "image/svg+xml", fileExtension: "svg")
}

extension ImageFormat {
    /// The formats that this package supports, best compression first.
    public static let known: [ImageFormat] = [
        .avif, .jpegXL, .webp, .heic, .svg, .jpeg, .png, .gif, .qoi, .jpeg2000, .tiff, .bmp, .ico, .icns, .pnm,
    ]

    /// Detects the format from the signature at the beginning of `data`. File names and content types are ignored.
    ///
    /// 18 bytes are enough for every format but AVIF and HEIC, whose list of brands may be longer, and SVG, which may
    /// begin with comments.
    public init?(signatureOf data: Data) {
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
        case 0xFF:
            switch byte(1) {
            // Stray bytes may precede the next marker.
            case 0xD8: return byte(2) == nil ? nil : .jpeg
            case 0x0A: return .jpegXL
            case 0x4F: return byte(2) == 0xFF && byte(3) == 0x51 ? .jpeg2000 : nil
            default: return nil
            }
        case 0x89: return has("PNG\r\n\u{1A}\n", at: 1) ? .png : nil
        case UInt8(ascii: "G"): return has("GIF87a") || has("GIF89a") ? .gif : nil
        case UInt8(ascii: "R"): return has("RIFF") && has("WEBP", at: 8) ? .webp : nil
        case UInt8(ascii: "B"): return has("BM") && isBitmapHeader(length: byte(14), byte(15)) ? .bmp : nil
        case 0 where has("ftyp", at: 4): return mediaFormat(brandsIn: bytes)
        case 0 where has("JXL \r\n", at: 4): return .jpegXL
        case 0 where has("jP  \r\n", at: 4): return .jpeg2000
        case 0:
            // Two types, at least one entry.
            guard byte(1) == 0, byte(3) == 0, byte(2) == 1 || byte(2) == 2, let low = byte(4), let high = byte(5) else {
                return nil
            }
            return low | high == 0 ? nil : .ico
        case UInt8(ascii: "i"): return has("icns") ? .icns : nil
        case UInt8(ascii: "I"): return has("II*\0") || has("II+\0\u{8}\0") ? .tiff : nil
        case UInt8(ascii: "M"): return has("MM\0*") || has("MM\0+\0\u{8}") ? .tiff : nil
        case UInt8(ascii: "P"):
            guard let kind = byte(1), (UInt8(ascii: "1")...UInt8(ascii: "7")).contains(kind), let end = byte(2) else {
                return nil
            }
            return [0x20, 0x09, 0x0A, 0x0D].contains(end) ? .pnm : nil
        case UInt8(ascii: "q"): return has("qoif") ? .qoi : nil
        default: return beginsWithSVG(bytes) ? .svg : nil
        }
    }

    /// The format of a file that begins with the box `ftyp` (ISO/IEC 14496-12, 4.3): its major brand, then a version,
    /// then the compatible brands.
    private static func mediaFormat(brandsIn bytes: UnsafeRawBufferPointer) -> ImageFormat? {
        let length = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        var isGeneric = false
        for offset in [8] + stride(from: 16, to: min(length, 256), by: 4) where offset + 4 <= bytes.count {
            switch String(decoding: bytes[offset..<offset + 4], as: UTF8.self) {
            case "avif", "avis": return .avif
            case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs": return .heic
            // Any codec; a later brand tells which.
            case "mif1", "msf1", "mif2": isGeneric = true
            default: break
            }
        }
        return isGeneric ? .heic : nil
    }

    /// Whether the root element of an XML text is `svg`. What may be before it is skipped: a byte order mark, white
    /// space, comments, processing instructions, and a document type without declarations.
    private static func beginsWithSVG(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var text = bytes.prefix(4096)
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
        func skip(past ending: String) -> Bool {
            let ending = Array(ending.utf8)
            while text.count >= ending.count {
                if text.starts(with: ending) {
                    text.removeFirst(ending.count)
                    return true
                }
                text.removeFirst()
            }
            return false
        }
        while true {
            text = text.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
            if text.starts(with: "<!--".utf8) {
                guard skip(past: "-->") else { return false }
            } else if text.starts(with: "<?".utf8) {
                guard skip(past: "?>") else { return false }
            } else if text.starts(with: "<!DOCTYPE svg".utf8) {
                return true
            } else if text.starts(with: "<svg:svg".utf8) {
                return true
            } else if text.starts(with: "<svg".utf8) {
                guard let next = text.dropFirst(4).first else { return false }
                return [0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ">"), UInt8(ascii: "/")].contains(next)
            } else {
                return false
            }
        }
    }

    /// Whether a bitmap's second header has one of the known lengths: text may begin with "BM", too.
    private static func isBitmapHeader(length low: UInt8?, _ high: UInt8?) -> Bool {
        guard let low, high == 0 else { return false }
        return low == 12 || (16...124).contains(low)
    }

    /// Finds a known format by its name or file extension, in any case, with or without a leading dot: `png`, `.JPG`,
    /// `jpeg`.
    public init?(named name: String) {
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
        "ppm": "pnm", "pam": "pnm", "avifs": "avif", "heif": "heic", "hif": "heic", "heics": "heic", "tif": "tiff",
        "j2k": "jp2", "j2c": "jp2", "jpx": "jp2", "jpf": "jp2",
    ]
}
