public import WebImageCore

/// What the first bytes of a file tell: enough to refuse a bomb and to reserve room in a layout.
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
    /// Whether pixels may be transparent.
    public var hasAlpha: Bool

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
