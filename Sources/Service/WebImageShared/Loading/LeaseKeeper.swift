internal import WebImageCore

/// Renews a lease until its end.
final class LeaseKeeper: Sendable {
    private let store: SharedStore
    private let name: String
    private static let interval = Duration.seconds(1)
    private let next = Lock<(call: ScheduledCall?, hasEnded: Bool)>((nil, false))

    init(_ store: SharedStore, _ name: String) {
        (self.store, self.name) = (store, name)
        schedule()
    }

    func end() {
        let call = next.withLock { next in
            next.hasEnded = true
            return next.call.take()
        }
        call?.cancel()
    }

    private func schedule() {
        let clock = SystemTimerClock.shared
        let call = clock.schedule(at: clock.now + Self.interval) { [weak self] in
            guard let self, !next.withLock({ $0.hasEnded }) else { return }
            Task { [self] in
                _ = await store.renew(name)
                schedule()
            }
        }
        let hasEnded = next.withLock { next in
            if !next.hasEnded { next.call = call }
            return next.hasEnded
        }
        if hasEnded { call.cancel() }
    }
}
