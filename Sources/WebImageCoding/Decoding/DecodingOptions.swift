public import WebImageCore

/// What a decoder is asked for.
public struct DecodingOptions: Sendable {
    /// The size wanted; `nil`, the default, decodes every pixel.
    public var thumbnail: Thumbnail?
    /// Pixels in a point of the result; 1 by default.
    public var scale: Double
    /// What to refuse.
    public var limits: DecodingLimits
    /// Polled while decoding; set it to stop.
    public var cancellation: Cancellation?

    /// Makes options; the defaults decode the whole picture.
    public init(
        thumbnail: Thumbnail? = nil, scale: Double = 1, limits: DecodingLimits = .default,
        cancellation: Cancellation? = nil
    ) {
        self.thumbnail = thumbnail
        self.scale = scale
        self.limits = limits
        self.cancellation = cancellation
    }

    /// Throws ``WebImageError/cancelled`` once ``cancellation`` is set.
    public func checkCancellation() throws(WebImageError) { try cancellation?.check() }
}
