package import WebImageCore

/// Where living pictures came from, by source. The pictures keep what is here alive; it goes with the last of them.
///
/// Two loads of one source find the same provenance here, and a load that brings newer bytes finds those that are out of date.
package final class ProvenanceTable: Sendable {
    private struct Reference {
        weak var provenance: (any ImageProvenance)?
    }

    private struct State {
        var references: [KeyText: [Reference]] = [:]
        /// How many sources there may be before those that nobody refers to are looked for.
        var sweepCount = ProvenanceTable.minimumSweepCount

        mutating func sweep() {
            references = references.filter { $0.value.contains { $0.provenance != nil } }
            sweepCount = max(ProvenanceTable.minimumSweepCount, references.count * 2)
        }
    }

    private static let minimumSweepCount = 256
    private let state = Lock(State())

    package init() {}

    /// How many sources are known, those that are about to be forgotten included.
    var sourceCount: Int { state.withLock { $0.references.count } }

    /// Looks at what lives of `source`, and adds to it.
    ///
    /// - Parameter body: runs under a lock, and must be short.
    package func change(of source: String, _ body: (inout [any ImageProvenance]) -> Void) {
        // What may be the last reference to one is let go outside the lock.
        let key = KeyText(source)
        var (before, after): ([any ImageProvenance], [any ImageProvenance]) = ([], [])
        defer { withExtendedLifetime((before, after)) {} }
        state.withLock { state in
            before = state.references[key]?.compactMap(\.provenance) ?? []
            after = before
            body(&after)
            state.references[key] = after.isEmpty ? nil : after.map { Reference(provenance: $0) }
            if state.references.count > state.sweepCount { state.sweep() }
        }
    }
}
