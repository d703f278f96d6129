/// The log of a manager. Without a sink it writes nothing.
///
/// ```swift
/// configuration.log = WebImageLog(level: .info) { print($0.level, $0.text) }
/// ```
public struct WebImageLog: Sendable {
    /// The severity of a message.
    public enum Level: Int, Sendable, Comparable, CaseIterable, Codable {
        /// The start of each load, and each load that a cache answered.
        case debug
        /// Each load that a loader answered.
        case info
        /// Failures that may not happen again.
        case warning
        /// Failures that will happen again (``WebImageError/isLasting``).
        case error

        /// Compares severities.
        public static func < (first: Level, second: Level) -> Bool { first.rawValue < second.rawValue }
    }

    /// A log message.
    public struct Message: Sendable {
        /// The severity.
        public let level: Level
        /// The text, without credentials.
        public let text: String
    }

    /// The minimum severity; ``Level/info`` by default. Messages below it are not created.
    public var level: Level
    /// Receives the messages, on any thread and never under a lock; `nil`, the default, writes nothing.
    public var sink: (@Sendable (Message) -> Void)?

    /// Creates a log. Without a sink it is silent.
    public init(level: Level = .info, sink: (@Sendable (Message) -> Void)? = nil) {
        self.level = level
        self.sink = sink
    }

    func write(_ level: Level, _ text: () -> String) {
        guard let sink, level >= self.level else { return }
        sink(Message(level: level, text: text()))
    }
}
