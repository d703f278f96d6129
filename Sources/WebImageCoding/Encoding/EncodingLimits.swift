public import WebImageCore

/// How large a file may become.
public struct EncodingLimits: Sendable, Hashable {
    /// The box, in pixels, in which the picture or each frame is fitted; never made larger. `nil`, the default, for any size.
    public var bounds: Thumbnail?
    /// The most bytes of the file; `nil`, the default, for any number. A value below 1 can't be met.
    ///
    /// A picture that takes more is tried again: first with less quality, where the format has it, down to
    /// ``EncodingLimits/lowestQuality``; the best that is short enough is taken. Where even that is too long, or quality
    /// means nothing, with fewer pixels, by as much as the last try was too long. That takes 16 tries at most, and an
    /// animation as many times as long as one.
    public var byteCount: Int?

    /// Makes limits; without any by default.
    public init(bounds: Thumbnail? = nil, byteCount: Int? = nil) {
        self.bounds = bounds
        self.byteCount = byteCount
    }

    /// 0.4: below, a smaller picture looks better than a worse one. A lower quality that is asked for stays as it is.
    public static let lowestQuality = 0.4
}
