/// A kind of image file.
///
/// Formats are values, not enum cases, so that a codec outside this package can add its own:
///
/// ```swift
/// extension ImageFormat {
///     static let qoi = ImageFormat(name: "qoi", mimeType: "image/qoi", fileExtension: "qoi")
/// }
/// ```
public struct ImageFormat: Sendable, Hashable, Codable, CustomStringConvertible {
    /// A short name, such as `jpeg`. Formats are equal if their names are.
    public let name: String
    /// The registered media type, such as `image/jpeg`.
    public let mimeType: String
    /// The usual file extension without its dot, such as `jpg`.
    public let fileExtension: String

    /// Creates a format that is identified by `name`.
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

    /// Whether the names are the same.
    public static func == (first: ImageFormat, second: ImageFormat) -> Bool { first.name == second.name }
    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    /// The name.
    public var description: String { name }
}
