/// What happened on the way to an answer, stage by stage: which cache answered and why not, what the server was asked, how
/// long it all took.
///
/// ```swift
/// let response = try await manager.response(for: request)
/// for entry in response.trace.entries { print(entry) }
/// ```
public struct LoadTrace: Sendable, Hashable, Codable {
    /// What happened, in the order in which it began.
    public var entries: [Entry]

    /// Makes a trace.
    public init(entries: [Entry] = []) { self.entries = entries }

    /// A part of the way.
    public enum Stage: String, Sendable, Hashable, Codable, CaseIterable {
        /// A look into memory.
        case memory
        /// A look onto the disk.
        case disk
        /// A decision whether what is stored may answer.
        case policy
        /// A way to a server and back, or whatever the loader does.
        case transfer
        /// A wait before another attempt.
        case retry
        /// What the server's answer meant for what is stored.
        case validation
        /// What was kept of an answer, or why it was not.
        case store
        /// Bytes made into pixels.
        case decode
        /// Pixels made into others.
        case process
    }

    /// One thing that happened.
    public struct Entry: Sendable, Hashable, Codable {
        /// Which part of the way.
        public var stage: Stage
        /// When it began, in seconds from the beginning of the request; negative for work that others had begun.
        public var start: Double
        /// How long it took, in seconds; 0 for what takes no time worth a measure.
        public var duration: Double
        /// What happened, for people; it may change from one version to the next.
        public var message: String

        /// Makes an entry.
        public init(stage: Stage, start: Double, duration: Double = 0, message: String) {
            self.stage = stage
            self.start = start
            self.duration = duration
            self.message = message
        }
    }
}

extension LoadTrace.Entry: CustomStringConvertible {
    /// A line: start and duration in milliseconds, stage, message.
    public var description: String {
        "\(Self.milliseconds(start)) ms  +\(Self.milliseconds(duration)) ms  \(stage.rawValue): \(message)"
    }

    /// With one decimal place.
    private static func milliseconds(_ seconds: Double) -> String {
        let tenths = Int((seconds * 10_000).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}

extension LoadTrace: CustomStringConvertible {
    /// A line for each entry.
    public var description: String { entries.map(\.description).joined(separator: "\n") }
}
