internal import Dispatch
internal import WebImageCore

/// The limits, and what removes entries because of them.
extension MemoryCache {
    /// The number of entries, including expired ones that have not been removed yet.
    public var count: Int { table.withLock { $0.count } }

    /// The cost of all entries together.
    public var totalCost: Int { table.withLock { $0.totalCost } }

    /// The maximum total cost of all entries. A lower limit takes effect immediately.
    public var costLimit: Int {
        get { table.withLock { $0.limits.cost } }
        set { update { $0.limits.cost = newValue } }
    }

    /// The maximum number of entries. A lower limit takes effect immediately.
    public var countLimit: Int {
        get { table.withLock { $0.limits.count } }
        set { update { $0.limits.count = newValue } }
    }

    /// The maximum cost of one entry. A lower limit takes effect immediately, in time proportional to the number of
    /// entries.
    public var entryCostLimit: Int {
        get { table.withLock { $0.limits.entryCost } }
        set {
            let displaced = update { [revival] table in
                table.limits.entryCost = newValue
                let limit = table.limits.entryCost
                return table.evictAll(because: .cost, revival: revival) { $0.cost > limit }
            }
            release(consume displaced)
        }
    }

    /// How long an entry is kept without being used; `nil` for no limit. A lower limit takes effect immediately.
    public var ageLimit: Duration? {
        get {
            let limit = table.withLock { $0.limits.age }
            return limit == .max ? nil : .nanoseconds(limit)
        }
        set {
            table.withLock { $0.limits.age = Int64(nanosecondsIn: newValue) }
            evictOld()
            keepUp()
        }
    }

    /// Removes expired entries, and then the least recently used ones until the rest cost no more than `cost`, are no
    /// more than `count`, and were all used within `age`. By default, nothing is limited.
    ///
    /// Up to 1,024 of these are removed in this call, in a millisecond or two. If there are more, a thread of the library
    /// removes the rest in steps, in the same order, and ``count`` falls meanwhile. Entries that are stored or used after
    /// the call are not removed. To have a limit hold at once, set ``costLimit`` or ``countLimit``.
    public func trim(toCost cost: Int = .max, toCount count: Int = .max, toAge age: Duration? = nil) {
        removeExpired()
        let (now, ageLimit) = (clock.now(), Int64(nanosecondsIn: age))
        var goal = EvictionGoal(cost: max(0, cost), count: max(0, count), cause: .trim)
        if ageLimit != .max { goal.time = now &- ageLimit }
        goal.newestTime = now
        if evict(downTo: goal, entryLimit: Self.trimStepCount) { continueTrimming(downTo: goal) }
    }

    /// The number of entries that a step of ``trim(toCost:toCount:toAge:)`` removes.
    static var trimStepCount: Int { 1_024 }

    private func continueTrimming(downTo goal: EvictionGoal) {
        DispatchQueue.global(qos: .utility).async { [weak self] in
            guard let self, evict(downTo: goal, entryLimit: Self.trimStepCount) else { return }
            continueTrimming(downTo: goal)
        }
    }

    /// Removes the entries that have expired or have not been used for ``ageLimit``.
    public func removeExpired() {
        let now = clock.now()
        let expired = update { $0.evictExpired(at: now) }
        release(consume expired)
        evictOld()
    }

    /// Removes all values, or all but ``Configuration/shareKeptInBackground``. Call it when the app's last window is
    /// hidden. Values that are still alive elsewhere are found again if the configuration allows it.
    public func didEnterBackground() {
        keep(configuration.shareKeptInBackground, because: .background)
        configuration.didEnterBackground?()
    }

    func respond(to level: MemoryPressureLevel) {
        let share = configuration.shareKeptUnderPressure
        if share < 1 { keep(level == .critical ? 0 : share, because: .memoryPressure) }
        configuration.didReceivePressure?(level == .critical)
    }

    /// Evicts entries until a share of the cost remains; without costs, of the entries.
    private func keep(_ share: Double, because cause: EvictionCause) {
        guard share < 1 else { return }
        guard share > 0 else { return evictCurrentEntries(because: cause) }
        let (cost, count) = table.withLock { ($0.totalCost, $0.count) }
        evict(
            downTo: cost > 0
                ? EvictionGoal(cost: Int(Double(cost) * share), cause: cause)
                : EvictionGoal(count: Int(Double(count) * share), cause: cause))
    }

    private func evictOld() {
        let limit = table.withLock { $0.limits.age }
        if limit != .max { evict(downTo: EvictionGoal(time: clock.now() &- limit, cause: .age)) }
    }

    /// Entries stored meanwhile by other threads stay, since this might otherwise never end.
    func evictCurrentEntries(because cause: EvictionCause) {
        evict(downTo: EvictionGoal(time: clock.now(), cause: cause))
    }
}
