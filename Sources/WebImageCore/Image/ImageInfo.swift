/// What a file says about itself before any pixel is decoded.
public struct ImageInfo: Sendable, Hashable {
    /// Its format.
    public var format: ImageFormat
    /// Its size as shown: with ``orientation`` applied.
    public var size: PixelSize
    /// How many frames it holds, at least 1.
    public var frameCount: Int
    /// How often an animation plays; 0 means for ever, `nil` that it is no animation.
    public var loopCount: Int?
    /// How long each frame is shown, in seconds; empty for a still.
    public var frameDurations: [Double]
    /// Whether pixels may be transparent.
    public var hasAlpha: Bool
    /// How the stored pixels are turned.
    public var orientation: ImageOrientation
    /// Whether a colour profile is embedded.
    public var hasColorProfile: Bool
    /// What the colour profile calls itself, such as `Display P3`; `nil` without one, or one that can't be read.
    public var colorProfileName: String?

    /// Makes a description of a file.
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
