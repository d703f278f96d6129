// Stands in for swift-service-lifecycle 2.11.0: the declarations that adapters use. A group shuts down with a signal, and
// here also when a service ends.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation
public import Logging
import Synchronization

public protocol Service: Sendable {
    func run() async throws
}

public struct UnixSignal: Sendable {
    fileprivate let number: Int32

    public static let sigterm = Self(number: SIGTERM)
    public static let sigint = Self(number: SIGINT)
}

/// Returns when the group shuts down.
///
/// - Throws: `CancellationError` if the task is cancelled.
public func gracefulShutdown() async throws {
    await (Shutdown.current ?? Shutdown()).wait()
    try Task.checkCancellation()
}

public actor ServiceGroup: Service {
    private let services: [any Service]
    private let signals: [UnixSignal]

    public init(services: [any Service], gracefulShutdownSignals: [UnixSignal] = [], logger: Logger) {
        (self.services, signals) = (services, gracefulShutdownSignals)
    }

    public func run() async throws {
        let (requested, shutdowns) = (Shutdown(), services.map { _ in Shutdown() })
        let sources = signals.map { Self.source(of: $0) { requested.begin() } }
        defer { for source in sources { source.cancel() } }
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for (index, service) in services.enumerated() {
                group.addTask {
                    try await Shutdown.$current.withValue(shutdowns[index]) { try await service.run() }
                    return index
                }
            }
            group.addTask {
                await requested.wait()
                return nil
            }
            var running = Set(services.indices)
            while let ended = try await group.next() {
                if let ended { running.remove(ended) }
                // The last one first, and the next when it has ended.
                if let last = running.max() { shutdowns[last].begin() } else { group.cancelAll() }
            }
        }
    }

    private static func source(
        of signal: UnixSignal, _ handler: @escaping @Sendable () -> Void
    ) -> any DispatchSourceSignal {
        Foundation.signal(signal.number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: signal.number, queue: .global())
        source.setEventHandler(handler: handler)
        source.resume()
        return source
    }
}

private final class Shutdown: Sendable {
    private struct State {
        var hasBegun = false
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    @TaskLocal static var current: Shutdown?

    private let state = Mutex(State())

    func begin() {
        let waiting = state.withLock { state in
            state.hasBegun = true
            return state.waiting
        }
        for continuation in waiting { continuation.finish() }
    }

    /// Returns when it has begun, or the task is cancelled.
    func wait() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let hasBegun = state.withLock { state in
            state.waiting.append(continuation)
            return state.hasBegun
        }
        if hasBegun { continuation.finish() }
        for await _ in stream {}
    }
}
