/// Where a manager writes what it does: nowhere, unless it has a sink.
///
/// ```swift
/// configuration.log = WebImageLog(level: .info) { print($0.level, $0.text) }
/// ```
public struct WebImageLog: Sendable {
    /// How much a message matters.
    public enum Level: Int, Sendable, Comparable, CaseIterable, Codable {
        /// Each start and end.
        case debug
        /// What a loader brought.
        case info
        /// What failed and may go well another time.
        case warning
        /// What failed and will fail again.
        case error

        /// Compares by weight.
        public static func < (first: Level, second: Level) -> Bool { first.rawValue < second.rawValue }
    }

    /// One thing that happened.
    public struct Message: Sendable {
        /// How much it matters.
        public let level: Level
        /// In words, without credentials.
        public let text: String
    }

    /// Messages below it are not written, nor made.
    public var level: Level
    /// Gets the messages, on whatever thread they come up, never under a lock; `nil`, the default, for none.
    public var sink: (@Sendable (Message) -> Void)?

    /// Makes a log; without a sink a silent one.
    public init(level: Level = .info, sink: (@Sendable (Message) -> Void)? = nil) {
        self.level = level
        self.sink = sink
    }

    func write(_ level: Level, _ text: () -> String) {
        guard let sink, level >= self.level else { return }
        sink(Message(level: level, text: text()))
    }
}
