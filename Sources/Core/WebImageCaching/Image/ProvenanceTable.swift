package import WebImageCore

/// The provenances of existing images, by source. The images retain them.
///
/// Concurrent loads of one source find the same provenance here. A load that brings newer bytes finds the outdated
/// provenances.
package final class ProvenanceTable: Sendable {
    private struct Reference {
        weak var provenance: (any ImageProvenance)?
    }

    private struct State {
        var references: [KeyText: [Reference]] = [:]
        /// The number of sources at which unused ones are removed.
        var sweepCount = ProvenanceTable.minimumSweepCount

        mutating func sweep() {
            // A filtered copy would hash all sources anew, and most are in use where the table grows.
            let unused = references.compactMap { source, all in
                all.contains { $0.provenance != nil } ? nil : source
            }
            for source in unused { references[source] = nil }
            sweepCount = max(ProvenanceTable.minimumSweepCount, references.count * 2)
        }
    }

    private static let minimumSweepCount = 256
    private let state = Lock(State())

    init() {}

    /// The number of sources, including those without images that have not been removed yet; for tests.
    var sourceCount: Int { state.withLock { $0.references.count } }

    /// Reads and changes the provenances of existing images from `source`.
    ///
    /// - Parameter body: called under a lock; must return soon.
    package func change(of source: String, _ body: (inout [any ImageProvenance]) -> Void) {
        // A reference that may be the last one is released outside the lock.
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
