/// Switches of a request; all are off by default.
public struct WebImageOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt64

    /// Makes options from bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Neither reads the disk cache nor writes it; memory and loader answer.
    public static let ignoreDiskCache = WebImageOptions(rawValue: 1 << 0)
    /// Takes cookies from the downloader's jar, and keeps those that servers set there.
    ///
    /// The cache tells pictures that came with cookies from those that came without, not one log-in from the next: empty
    /// it when another user logs in.
    public static let handleCookies = WebImageOptions(rawValue: 1 << 1)
    /// Keeps credentials that worked in memory, and uses them again.
    ///
    /// The cache tells such pictures from others, not one stored credential from the next: empty it when another user logs
    /// in.
    public static let useCredentialStorage = WebImageOptions(rawValue: 1 << 2)
    /// Takes any certificate: **anybody on the way can then read and change what is loaded**. Such pictures have cache keys
    /// of their own, so that no request that checks certificates ever gets them; nor do such loads use the cookies and stored
    /// credentials of others.
    public static let allowInvalidCertificates = WebImageOptions(rawValue: 1 << 3)
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
