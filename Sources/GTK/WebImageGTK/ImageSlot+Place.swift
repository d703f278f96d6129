internal import WebImage

/// Lazy loading.
extension ImageSlot {
    /// Whether a load may begin now.
    var mayLoad: Bool { loading == .eager || host?.isNear != false }

    /// Whether the load is paused until the view is near.
    var isWaitingForPlace: Bool { if case .paused = phase { true } else { false } }

    /// Whether a load is in progress that ends when the view is far away.
    var isLoadingNear: Bool {
        guard loading == .lazy, !loadsOffscreen else { return false }
        if case .loading = phase { return true }
        return false
    }

    func waitForPlace() {
        prepared = nil
        phase = .paused
        if state != .idle { move(to: .idle) }
        host?.awaitPlace()
    }
}
