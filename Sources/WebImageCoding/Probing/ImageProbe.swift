public import WebImageCore

/// What the first bytes of a file tell: enough to refuse a bomb and to reserve room in a layout.
///
/// | | bytes it takes |
/// |---|---|
/// | JPEG | those before the first scan: 600 or so, with a camera's thumbnail up to 64 KB more |
/// | PNG | those before the pixels: 41 at least |
/// | GIF | those up to the first frame's size: 23 at least, with a palette 791 |
/// | WebP | 30 |
public struct ImageProbe: Sendable, Hashable {
    /// Its format.
    public var format: ImageFormat
    /// Its size as shown, in pixels: with ``orientation`` applied.
    public var size: PixelSize
    /// How the stored pixels are turned. Metadata that stand behind the pixels (as in WebP, and sometimes in PNG) can
    /// still change it, and with it ``size``.
    public var orientation: ImageOrientation
    /// Whether it says that it holds several frames; `nil` for a GIF, which tells only by having them.
    public var isAnimated: Bool?
    /// Whether pixels may be transparent; of a GIF, those of the first frame.
    public var hasAlpha: Bool

    /// How many bytes of a file are looked at, 1 MiB. Size and orientation mostly stand in the first few hundred, behind a
    /// camera's thumbnail in the first 64 KB, and behind the profile of a printing press in the first 600.
    public static let byteLimit = 1 << 20

    /// Makes a description of a file's beginning.
    public init(
        format: ImageFormat, size: PixelSize, orientation: ImageOrientation = .up, isAnimated: Bool? = false,
        hasAlpha: Bool = false
    ) {
        self.format = format
        self.size = size
        self.orientation = orientation
        self.isAnimated = isAnimated
        self.hasAlpha = hasAlpha
    }
}
