/// The properties of a file that are known before any pixel is decoded.
public struct ImageInfo: Sendable, Hashable {
    /// The format.
    public var format: ImageFormat
    /// The size with ``orientation`` applied.
    public var size: PixelSize
    /// The number of frames, at least 1.
    public var frameCount: Int
    /// How often the animation plays; 0 means forever, `nil` that it is not an animation.
    public var loopCount: Int?
    /// The duration of each frame, in seconds; empty for a still image.
    public var frameDurations: [Double]
    /// Whether pixels may be transparent.
    public var hasAlpha: Bool
    /// The orientation of the stored pixels.
    public var orientation: ImageOrientation
    /// Whether a color profile is embedded.
    public var hasColorProfile: Bool
    /// The name in the color profile, such as `Display P3`; `nil` without a profile that can be read.
    public var colorProfileName: String?

    /// Creates a description of a file.
    public init(
        format: ImageFormat, size: PixelSize, frameCount: Int = 1, loopCount: Int? = nil,
        frameDurations: [Double] = [], hasAlpha: Bool = false, orientation: ImageOrientation = .up,
        hasColorProfile: Bool = false, colorProfileName: String? = nil
    ) {
        self.format = format
        self.size = size
        self.frameCount = frameCount
        self.loopCount = loopCount
        self.frameDurations = frameDurations
        self.hasAlpha = hasAlpha
        self.orientation = orientation
        self.hasColorProfile = hasColorProfile
        self.colorProfileName = colorProfileName
    }
}
