/// Switches of a request; all are off by default.
public struct WebImageOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt64

    /// Makes options from bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Neither reads the disk cache nor writes it; memory and loader answer.
    public static let ignoreDiskCache = WebImageOptions(rawValue: 1 << 0)
}

/// Switches for views; a load without a view passes over them.
extension WebImageOptions {
    /// Fades a picture in that comes from disk or network; one from memory appears at once.
    public static let fadeIn = WebImageOptions(rawValue: 1 << 32)
    /// Fades pictures from memory too. Only together with ``fadeIn``.
    public static let forceTransition = WebImageOptions(rawValue: 1 << 33)
    /// Keeps what is on display until the new picture is there.
    public static let ignorePlaceholder = WebImageOptions(rawValue: 1 << 34)
    /// Shows the placeholder only once the load has failed.
    public static let delayPlaceholder = WebImageOptions(rawValue: 1 << 35)
    /// Does not show the picture: the completion does with it what it likes.
    public static let avoidSettingImage = WebImageOptions(rawValue: 1 << 36)
}
