/// Switches of a request; all are off by default.
public struct WebImageOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt64

    /// Makes options from bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Neither reads the disk cache nor writes it; memory and loader answer.
    public static let ignoreDiskCache = WebImageOptions(rawValue: 1 << 0)
}
