// Stands in for swift-distributed-tracing 1.4.1: the declarations that adapters use. Spans that end are written to standard
// output.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation
import Synchronization

public struct ServiceContext: Sendable {
    @TaskLocal public static var current: ServiceContext?
    public static var topLevel: ServiceContext { ServiceContext() }

    /// The name of the span that the context is of.
    fileprivate var span: String?
}

public protocol TracerInstant: Sendable {
    var nanosecondsSinceEpoch: UInt64 { get }
}

public struct DefaultTracerClock {
    public struct Timestamp: TracerInstant {
        public let nanosecondsSinceEpoch: UInt64

        public init(nanosecondsSinceEpoch: UInt64) { self.nanosecondsSinceEpoch = nanosecondsSinceEpoch }
    }

    public static var now: Timestamp { Timestamp(nanosecondsSinceEpoch: UInt64(Date().timeIntervalSince1970 * 1e9)) }
}

public enum SpanKind: Sendable { case server, client, producer, consumer, `internal` }

public struct SpanStatus: Sendable {
    public enum Code: Sendable { case ok, error }

    public let code: Code
    public let message: String?

    public init(code: Code, message: String? = nil) { (self.code, self.message) = (code, message) }
}

public enum SpanAttribute: Sendable {
    case int64(Int64)
    case string(String)

    fileprivate var text: String {
        switch self {
        case .int64(let value): "\(value)"
        case .string(let value): value
        }
    }
}

public struct SpanAttributes: Sendable, ExpressibleByDictionaryLiteral {
    fileprivate var values: [String: SpanAttribute]

    public init(dictionaryLiteral elements: (String, SpanAttribute)...) {
        values = Dictionary(elements) { _, last in last }
    }

    public mutating func set(_ name: String, value: SpanAttribute?) { values[name] = value }
    public mutating func merge(_ other: SpanAttributes) { values.merge(other.values) { _, last in last } }

    fileprivate var text: String {
        values.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value.text)" }.joined()
    }
}

public struct SpanEvent: Sendable {
    public let name: String
    public let attributes: SpanAttributes
    public let nanosecondsSinceEpoch: UInt64

    public init(name: String, at instant: @autoclosure () -> some TracerInstant, attributes: SpanAttributes = [:]) {
        (self.name, self.attributes, nanosecondsSinceEpoch) = (name, attributes, instant().nanosecondsSinceEpoch)
    }
}

public protocol Span: Sendable {
    var context: ServiceContext { get }
    var attributes: SpanAttributes { get nonmutating set }
    func setStatus(_ status: SpanStatus)
    func addEvent(_ event: SpanEvent)
    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant)
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant)
}

public protocol Tracer: Sendable {
    associatedtype Span: Tracing.Span

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> Span
}

extension Tracer {
    public func startSpan(
        _ operationName: String, context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
        ofKind kind: SpanKind = .internal, at instant: @autoclosure () -> some TracerInstant = DefaultTracerClock.now,
        function: String = #function, file fileID: String = #fileID, line: UInt = #line
    ) -> Span {
        startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line
        )
    }
}

public enum InstrumentationSystem {
    public static var tracer: any Tracer { PrintingTracer() }
}

public func withSpan<Result>(
    _ operationName: String, isolation: isolated (any Actor)? = #isolation,
    _ operation: (any Span) async throws -> Result
) async rethrows -> Result {
    let span: any Span = InstrumentationSystem.tracer.startSpan(operationName)
    defer { span.end(at: DefaultTracerClock.now) }
    return try await ServiceContext.$current.withValue(span.context) { try await operation(span) }
}

private struct PrintingTracer: Tracer {
    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> PrintedSpan {
        PrintedSpan(operationName, parent: context().span, kind, start: instant().nanosecondsSinceEpoch)
    }
}

private final class PrintedSpan: Span {
    private struct State {
        var attributes: SpanAttributes = [:]
        var lines: [String] = []
    }

    private let name: String
    private let parent: String
    private let kind: SpanKind
    private let start: UInt64
    private let state = Mutex(State())

    init(_ name: String, parent: String?, _ kind: SpanKind, start: UInt64) {
        (self.name, self.parent, self.kind, self.start) = (name, parent ?? "none", kind, start)
    }

    var context: ServiceContext { ServiceContext(span: name) }

    var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    func setStatus(_ status: SpanStatus) { add("status of \(name): \(status.code) \(status.message ?? "")") }
    func addEvent(_ event: SpanEvent) { add("event of \(name): \(event.name)") }

    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        add("error of \(name)")
    }

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let (state, end) = (state.withLock { $0 }, instant().nanosecondsSinceEpoch)
        let order = end >= start ? "" : " ends before it starts"
        let lines = state.lines + ["\(kind) span \(name) in \(parent)\(order)\(state.attributes.text)"]
        FileHandle.standardOutput.write(Data((lines.joined(separator: "\n") + "\n").utf8))
    }

    private func add(_ line: String) { state.withLock { $0.lines.append(line) } }
}
