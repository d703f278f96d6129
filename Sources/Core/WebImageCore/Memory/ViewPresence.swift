internal import Synchronization

/// Whether the program has views. They take processor time to draw, and they keep images for as long as these are on
/// screen.
package enum ViewPresence {
    private static let state = Atomic(false)

    package static var isAnnounced: Bool { state.load(ordering: .relaxed) }

    /// The views call it before the first load.
    package static func announce() { state.store(true, ordering: .relaxed) }
}
