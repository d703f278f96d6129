public import FoundationEssentials
public import WebImageCore

/// The files that an ``ImageService`` makes of uploads, and the uploads that it refuses.
///
/// ```swift
/// var policy = UploadPolicy(results: ["image": "rs:fit:2048:2048/f:jpg", "avatar": "rs:fill:96:96/g:sm/f:webp"])
/// policy.formats = [.jpeg, .png, .webp]
/// ```
public struct UploadPolicy: Sendable {
    /// The files that are made, by name, each with options as in a path. Without the option `format`, a file has the format of the upload if
    /// that is JPEG, PNG, GIF, WebP or AVIF, and can be written; a JPEG that becomes transparent is PNG. Of other formats it is JPEG or PNG, GIF for animations. Metadata is removed unless an option keeps it; `raw:1` keeps the
    /// whole file.
    public var results: [String: String]
    /// The formats that are accepted; JPEG, PNG, WebP, GIF, AVIF and HEIC by default.
    public var formats: Set<ImageFormat> = [.jpeg, .png, .webp, .gif, .avif, .heic]
    /// The longest file in bytes; 20 MiB by default.
    public var byteLimit = 20 << 20
    /// The media type that the client has stated, such as `image/jpeg`. A file of another type is refused. `nil`, the default, is any.
    public var claimedType: String?
    /// Whether bytes behind the image are accepted, in the formats that say where it ends: JPEG, PNG, GIF, WebP, AVIF and HEIC; `false` by default.
    /// Another file may be there, such as an archive, and the film of a phone's motion photo is. New files are without them in any case, those of
    /// `raw:1` are not.
    public var allowsTrailingBytes = false

    /// Creates a policy.
    ///
    /// - Parameter results: by default one image of at most 4096 pixels a side.
    public init(results: [String: String] = ["image": "rs:fit:4096:4096"]) { self.results = results }
}

/// An accepted upload: its properties, and the files made of it.
public struct Upload: Sendable {
    /// A file that was made.
    public struct File: Sendable {
        /// The bytes.
        public let data: Data
        /// The media type, such as `image/webp`.
        public let contentType: String
        /// The usual extension without its dot, such as `webp`.
        public let fileExtension: String
        /// Its size in pixels, upright; `nil` for a format that can be written, but not read.
        public let size: PixelSize?
    }

    /// The format of the upload, from its bytes.
    public let format: ImageFormat
    /// Its size, upright.
    public let size: PixelSize
    /// The number of its frames; 1 for a still.
    public let frameCount: Int
    /// When a camera has taken it, in the camera's time, such as `2024:05:01 12:00:00`; `nil` if it does not say.
    public let dateTaken: String?
    /// Whether its metadata have a place.
    public let hasLocation: Bool
    /// A placeholder.
    public let blurHash: String
    /// A placeholder with transparency, in base64.
    public let thumbHash: String
    /// A number that is close for images that look alike, in hexadecimal digits.
    public let perceptualHash: String
    /// The files, by their names in ``UploadPolicy/results``.
    public let files: [String: File]
}

/// Why an upload was refused. Nothing of it is kept.
public enum UploadRejection: Error, Sendable, Equatable {
    /// It has more bytes than allowed.
    case tooLong(limit: Int)
    /// Its bytes are not an image, or in a format that is not accepted.
    case notAccepted(format: ImageFormat?)
    /// It is in another format than the client has stated.
    case otherType(claimed: String, actual: String)
    /// So many bytes are behind its image, which ``UploadPolicy/allowsTrailingBytes`` does not allow.
    case trailingBytes(count: Int)
    /// It cannot be decoded, exceeds a limit, or its results cannot be made. The status suits an HTTP answer.
    case refused(status: Int, reason: String)
    /// The client has stopped sending, or the task was cancelled.
    case interrupted
}
