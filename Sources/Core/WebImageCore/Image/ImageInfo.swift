/// The properties of a file that are known before any pixel is decoded.
///
/// ```swift
/// let info = try CodecRegistry.shared.info(of: data)
/// print(info.format.name, info.size, info.frameCount, info.isHDR)
/// ```
public struct ImageInfo: Codable, Sendable, Hashable {
    /// The format.
    public var format: ImageFormat
    /// The size of the upright image, with the orientation in its metadata applied.
    public var size: PixelSize
    /// The number of frames, at least 1.
    public var frameCount: Int
    /// The number of separate images in the file, such as the sizes of an icon; 1 for most formats.
    /// ``DecodingOptions/page`` chooses one.
    public var pageCount = 1
    /// How often the animation plays; 0 means forever, `nil` that it is not an animation.
    public var loopCount: Int?
    /// The frames of an animation, in order, with their durations and stored parts; empty for a still image.
    public var frames: [AnimationFrame]
    /// Whether pixels may be transparent.
    public var hasAlpha: Bool
    /// The orientation of the stored pixels.
    public var orientation = ImageOrientation.up
    /// Whether a color profile is embedded.
    public var hasColorProfile: Bool
    /// The name in the color profile, such as `Display P3`; `nil` without a profile that can be read.
    public var colorProfileName: String?

    /// The bits of a channel as stored, such as 10 in many an AVIF; decoding makes 8 of them. 8 for formats that have
    /// nothing else.
    public var bitDepth = 8
    /// Whether the colors are HDR (PQ or HLG). They are mapped to sRGB's range.
    public var isHDR = false
    /// Whether the file has a gain map (ISO 21496-1, Ultra HDR), from which HDR displays could compute a brighter image.
    /// The base image is shown.
    public var hasGainMap = false

    /// Creates a description of a file.
    ///
    /// - Parameter hasColorProfile: whether a profile is embedded; by default, whether it has a name.
    public init(
        format: ImageFormat, size: PixelSize, frameCount: Int = 1, loopCount: Int? = nil,
        frames: [AnimationFrame] = [], hasAlpha: Bool = false, orientation: ImageOrientation = .up,
        hasColorProfile: Bool? = nil, colorProfileName: String? = nil
    ) {
        self.format = format
        self.size = size
        self.frameCount = frameCount
        self.loopCount = loopCount
        self.frames = frames
        self.hasAlpha = hasAlpha
        self.orientation = orientation
        self.hasColorProfile = hasColorProfile ?? (colorProfileName != nil)
        self.colorProfileName = colorProfileName
    }

    /// The duration of each frame; empty for a still image.
    public var frameDurations: [Duration] { frames.map(\.duration) }
    /// The duration of one play of an animation; zero for a still image.
    public var duration: Duration { frames.reduce(.zero) { $0 + $1.duration } }
}

/// How a stored image must be transformed to be upright: the values of the EXIF orientation tag (CIPA DC-008, 4.6.5).
public enum ImageOrientation: Int, Codable, Sendable, CaseIterable {
    /// Stored upright.
    case up = 1
    /// Stored mirrored horizontally.
    case upMirrored = 2
    /// Stored upside down: rotate by 180°.
    case down = 3
    /// Stored upside down and mirrored horizontally: flip vertically.
    case downMirrored = 4
    /// Stored with rows and columns exchanged: transpose.
    case leftMirrored = 5
    /// Stored rotated counterclockwise: rotate clockwise by 90°.
    case right = 6
    /// Stored rotated and mirrored: flip along the other diagonal.
    case rightMirrored = 7
    /// Stored rotated clockwise: rotate counterclockwise by 90°.
    case left = 8

    /// Whether making the image upright exchanges width and height.
    public var swapsSides: Bool { rawValue >= 5 }

    /// Returns the upright size of an image stored with `size`.
    public func upright(_ size: PixelSize) -> PixelSize { swapsSides ? size.transposed : size }
}
