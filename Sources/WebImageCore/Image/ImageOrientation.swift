/// How a stored picture must be turned to stand upright: the values of the EXIF orientation tag (CIPA DC-008, 4.6.5).
public enum ImageOrientation: Int, Sendable, Hashable, Codable, CaseIterable {
    /// Stored as it is shown.
    case up = 1
    /// Stored mirrored left to right.
    case upMirrored = 2
    /// Stored upside down: turn it by 180°.
    case down = 3
    /// Stored upside down and mirrored left to right: flip it top to bottom.
    case downMirrored = 4
    /// Stored with its rows as columns: transpose it.
    case leftMirrored = 5
    /// Stored turned left: turn it clockwise by 90°.
    case right = 6
    /// Stored mirrored and turned: flip along the other diagonal.
    case rightMirrored = 7
    /// Stored turned right: turn it counter-clockwise by 90°.
    case left = 8

    /// Whether turning it upright exchanges width and height.
    public var swapsSides: Bool { rawValue >= 5 }

    /// The size a stored picture of `size` has when it stands upright.
    public func upright(_ size: PixelSize) -> PixelSize { swapsSides ? size.transposed : size }
}
