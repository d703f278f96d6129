// Stands in for swift-log 1.14.0: the declarations that adapters use. It writes to standard output.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation

public struct Logger: Sendable {
    public enum Level: String, Sendable, CaseIterable, Comparable {
        case trace, debug, info, notice, warning, error, critical

        public static func < (first: Self, second: Self) -> Bool {
            (allCases.firstIndex(of: first) ?? 0) < (allCases.firstIndex(of: second) ?? 0)
        }
    }

    public struct Message: ExpressibleByStringInterpolation, Sendable {
        fileprivate let text: String

        public init(stringLiteral value: String) { text = value }
    }

    public typealias Metadata = [String: MetadataValue]

    public enum MetadataValue: ExpressibleByStringInterpolation, Sendable {
        case string(String)

        public init(stringLiteral value: String) { self = .string(value) }

        fileprivate var text: String {
            switch self {
            case .string(let text): text
            }
        }
    }

    public let label: String
    public var logLevel = Level.info

    public init(label: String) { self.label = label }

    public func trace(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {
        write(.trace, message(), metadata())
    }

    public func debug(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {
        write(.debug, message(), metadata())
    }

    public func info(_ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {
        write(.info, message(), metadata())
    }

    private func write(_ level: Level, _ message: Message, _ metadata: Metadata?) {
        guard level >= logLevel else { return }
        let pairs = (metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value.text)" }
        let line = "\(level.rawValue) \(label): \(message.text)\(pairs.joined())\n"
        FileHandle.standardOutput.write(Data(line.utf8))
    }
}
