internal import FoundationEssentials
public import WebImageCaching
internal import WebImageCore

extension SharedImageCache {
    /// The result of a look for a value that a machine needs.
    public enum Reservation: Sendable {
        /// The value.
        case found(ImageCacheResult)
        /// Nothing; the other machines that need the value wait for this one to store it.
        case reserved(ValueLease)
        /// Nothing, and the machines cannot agree which one makes it: another one takes too long, or the store does not answer.
        case unavailable
    }

    /// Looks a value up, or promises to make it, so that one machine of a fleet does.
    ///
    /// - Parameters:
    ///   - key: of the value.
    ///   - patience: how long to wait for another machine that makes the value.
    public func reserve(_ key: ImageCacheKey, patience: Duration) async -> Reservation {
        let (name, start) = (Self.name(of: key), ContinuousClock.now)
        var hasWaited = false
        while !Task.isCancelled {
            switch await store.find(name) {
            case .found(let object, let age):
                if object.kind == .value, !object.isExpired(at: Date()) {
                    store.count { counters in
                        counters.hits += 1
                        if hasWaited { counters.sharedLoads += 1 }
                    }
                    return .found(Self.result(of: object))
                }
                if object.kind == .lease, let age, age <= SharedStore.leaseDuration {
                    guard start.duration(to: .now) < patience else {
                        store.count { $0.abandonedWaits += 1 }
                        return .unavailable
                    }
                    hasWaited = true
                    try? await Task.sleep(for: SharedStore.lookInterval)
                    continue
                }
                // The stored object is void.
                store.count { $0.misses += 1 }
                return await store.renew(name) ? .reserved(ValueLease(store, name)) : .unavailable
            case .claimed:
                store.count { $0.misses += 1 }
                return .reserved(ValueLease(store, name))
            case .absent, .unavailable: return .unavailable
            }
        }
        return .unavailable
    }
}

/// The promise to store a value, which other machines wait for. It ends with the last reference.
public final class ValueLease: Sendable {
    private let store: SharedStore
    private let name: String
    private let keeper: LeaseKeeper
    private let isEnded = Lock(false)

    init(_ store: SharedStore, _ name: String) {
        (self.store, self.name) = (store, name)
        keeper = LeaseKeeper(store, name)
    }

    deinit { end(hasStored: false) }

    /// Ends the promise; only the first call counts.
    ///
    /// - Parameter hasStored: whether the value was passed to the store, which replaces the mark of the promise with it.
    public func end(hasStored: Bool) {
        let isFirst = isEnded.withLock { isEnded in
            defer { isEnded = true }
            return !isEnded
        }
        guard isFirst else { return }
        keeper.end()
        if !hasStored { store.removeLater(name) }
    }
}
