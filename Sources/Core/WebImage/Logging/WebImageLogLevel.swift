/// The severity of a log message; see ``WebImageManager/Configuration/log``.
public enum WebImageLogLevel: Sendable, Comparable {
    /// The start of each load, and each load that a cache answered.
    case debug
    /// Each load that a loader answered.
    case info
    /// Failures that may not happen again.
    case warning
    /// Failures that will happen again, such as a 404.
    case error
}
