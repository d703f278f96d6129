/// How a stored image must be transformed to be upright: the values of the EXIF orientation tag (CIPA DC-008, 4.6.5).
public enum ImageOrientation: Int, Sendable, Hashable, Codable, CaseIterable {
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
