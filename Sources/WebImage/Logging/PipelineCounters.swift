import WebImageCore

/// What has happened so far.
final class PipelineCounters: Sendable {
    private let counts = Lock(WebImageCounters())

    var current: WebImageCounters { counts.withLock { $0 } }

    func change(_ body: (inout WebImageCounters) -> Void) { counts.withLock { body(&$0) } }
}
