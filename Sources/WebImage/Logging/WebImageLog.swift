/// The log of a manager. Without a sink it writes nothing.
///
/// ```swift
/// configuration.log = WebImageLog(level: .info) { level, message in print(level, message) }
/// ```
public struct WebImageLog: Sendable {
    /// The severity of a message.
    public enum Level: Sendable, Comparable {
        /// The start of each load, and each load that a cache answered.
        case debug
        /// Each load that a loader answered.
        case info
        /// Failures that may not happen again.
        case warning
        /// Failures that will happen again (``WebImageError/isLasting``).
        case error
    }

    /// The minimum severity; ``Level/info`` by default. Messages below it are not created.
    public var level: Level
    /// Receives the messages, which contain no credentials, on any thread and never under a lock; `nil`, the default, writes nothing.
    public var sink: (@Sendable (_ level: Level, _ message: String) -> Void)?

    /// Creates a log. Without a sink it is silent.
    public init(level: Level = .info, sink: (@Sendable (_ level: Level, _ message: String) -> Void)? = nil) {
        self.level = level
        self.sink = sink
    }

    func write(_ level: Level, _ text: () -> String) {
        guard let sink, level >= self.level else { return }
        sink(level, text())
    }
}
