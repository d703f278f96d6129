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
}

extension ImageFormat {
    /// The formats that this package supports.
    package static let known: [ImageFormat] = [.jpeg, .png, .gif, .webp]

    /// Detects the format from the signature at the beginning of `data`. File names and content types are ignored.
    ///
    /// 12 bytes are enough for every known format.
    package init?(signatureOf data: Data) {
        let bytes = [UInt8](data.prefix(12))
        switch true {
        case bytes.starts(with: [0xFF, 0xD8, 0xFF]):
            self = .jpeg
        case bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]):
            self = .png
        case bytes.starts(with: Array("GIF87a".utf8)), bytes.starts(with: Array("GIF89a".utf8)):
            self = .gif
        case bytes.starts(with: Array("RIFF".utf8)) && bytes.dropFirst(8).elementsEqual("WEBP".utf8):
            self = .webp
        default:
            return nil
        }
    }

    /// Finds a known format by its name or file extension, in any case, with or without a leading dot: `png`, `.JPG`,
    /// `jpeg`.
    package init?(named name: String) {
        let wanted = (name.hasPrefix(".") ? String(name.dropFirst()) : name).lowercased()
        guard let format = Self.known.first(where: { $0.name == wanted || $0.fileExtension == wanted }) else {
            return nil
        }
        self = format
    }
}
