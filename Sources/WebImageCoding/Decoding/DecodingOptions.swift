public import WebImageCore

/// What a decoder is asked for.
public struct DecodingOptions: Sendable {
    /// The size wanted; `nil`, the default, decodes every pixel.
    public var thumbnail: Thumbnail?
    /// The most bytes that the decoded pixels may take, 4 a pixel; a picture that would take more is scaled down,
    /// keeping its proportions. `nil`, the default, for any number.
    public var byteLimit: Int?
    /// Pixels in a point of the result; 1 by default.
    public var scale: Double
    /// Whether the first frame of a moving picture is enough; if not, the picture has an
    /// ``WebImageCore/Image/animation``. `false` by default.
    public var firstFrameOnly: Bool
    /// What to do with a file that ends early, or is damaged behind its first rows.
    public var damage: Damage
    /// What to refuse.
    public var limits: DecodingLimits
    /// Polled while decoding; set it to stop.
    public var cancellation: Cancellation?
    /// That of the animations made with these options; `nil` for a new one each time. An incremental decoder has one, so
    /// that its animations are known to be versions of one file's.
    var animationIdentity: AnimationIdentity?
    /// What all decodes of the process share; tests have their own.
    package var budget = DecodingBudget.shared
    /// The directories to try, in their order, for the coefficients of a JPEG that do not fit into memory; tests have their own.
    var spoolDirectories: [String]?

    /// Makes options; the defaults decode the whole picture.
    public init(
        thumbnail: Thumbnail? = nil, byteLimit: Int? = nil, scale: Double = 1, firstFrameOnly: Bool = false,
        damage: Damage = .showGoodPart,
        limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) {
        self.thumbnail = thumbnail
        self.byteLimit = byteLimit
        self.scale = scale
        self.firstFrameOnly = firstFrameOnly
        self.damage = damage
        self.limits = limits
        self.cancellation = cancellation
    }

    /// What becomes of a damaged file.
    public enum Damage: Sendable, Hashable {
        /// The rows (or, of a progressive picture, the detail) before the damage, as browsers show them, with
        /// ``WebImageCore/Image/isPartial`` set; an error where there are none.
        case showGoodPart
        /// An error.
        case refuse
    }

    /// Throws ``WebImageError/cancelled`` once ``cancellation`` is set.
    public func checkCancellation() throws(WebImageError) { try cancellation?.check() }
}
