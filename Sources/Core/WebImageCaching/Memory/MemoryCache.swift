internal import FoundationEssentials
// Public only because `Lock` is compiled into other modules of this package.
public import WebImageCore

/// A cache of values in memory. The least recently used values are evicted when a limit is reached.
///
/// Methods may be called from any thread and take constant time, plus the time for each evicted entry. All entries are
/// behind one lock, which a look-up holds for less than 0.1 µs.
///
/// Limits hold whenever no call of ``set(_:for:cost:expiration:)`` is in progress. Entries that have expired, or have
/// not been used for ``ageLimit``, are never returned; a thread of the library removes them. Values are released outside
/// the lock, by ``Configuration/releaseHandler`` if there is one.
///
/// ```swift
/// let icons = MemoryCache<String, Image>(costLimit: 16 << 20)
/// icons.set(image, for: "folder", cost: image.pixels.size.width * image.pixels.size.height * 4)
/// print(icons.value(for: "folder")?.pixels.size.width ?? 0)
/// ```
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline typealias Table = MemoryTable<Key, Value>

    @usableFromInline let table: Lock<Table>
    @usableFromInline let clock: MemoryClock
    private let configuredRevival: ValueRevival<Value>?
    @usableFromInline let expiration: CacheExpiration
    @usableFromInline let valueRelease: ValueRelease
    /// The settings for memory pressure, the background and the name.
    let configuration: Configuration
    @usableFromInline let upkeep: MemoryUpkeep

    /// Creates an empty cache.
    public convenience init(configuration: Configuration) {
        self.init(configuration: configuration, clock: .system, maintenance: .shared)
    }

    /// Creates an empty cache with these limits and the defaults of ``Configuration`` otherwise.
    ///
    /// - Parameters:
    ///   - costLimit: the maximum total cost of all entries, in a unit of the caller's choice (bytes, for images).
    ///     Clamped to `Int.max / 2`.
    ///   - countLimit: the maximum number of entries.
    public convenience init(costLimit: Int, countLimit: Int = .max) {
        self.init(configuration: Configuration(costLimit: costLimit, countLimit: countLimit))
    }

    init(configuration: Configuration, clock: MemoryClock, maintenance: CacheMaintenance) {
        let limits = MemoryLimits(
            cost: configuration.costLimit, count: configuration.countLimit, entryCost: configuration.entryCostLimit,
            age: Int64(nanosecondsIn: configuration.ageLimit))
        let expirationExtension = DeadlineExtension(configuration.expirationExtension)
        table = Lock(Table(limits: limits, expirationExtension: expirationExtension))
        self.clock = clock
        configuredRevival = configuration.revival
        expiration = configuration.expiration
        valueRelease = configuration.valueRelease
        self.configuration = configuration
        upkeep = MemoryUpkeep(maintenance: maintenance, pressureSource: configuration.pressureSource, clock: clock)
    }

    deinit {
        upkeep.stop(ObjectIdentifier(self))
        valueRelease.release(table.withLock { $0.removeAll() })
    }

    /// The name in its configuration.
    public var name: String? { configuration.name }

    // MARK: Looking up

    /// Returns the value and makes it the most recently used; `nil` if there is none.
    @inlinable
    public func value(for key: Key) -> Value? { lookUp(key, countsHit: true, countsMiss: true).value }

    /// Like ``value(for:)``, for one of several look-ups that belong to one query.
    ///
    /// - Parameters:
    ///   - countsHit: whether the statistics count a hit.
    ///   - countsMiss: whether they count a miss.
    ///   - isUsable: whether the value can be returned; if not, the look-up is a miss. Called without a lock.
    @inlinable
    func value(
        for key: Key, countsHit: Bool, countsMiss: Bool, where isUsable: (Value) -> Bool
    ) -> Value? {
        let (value, isRevived) = lookUp(key, countsHit: countsHit, countsMiss: countsMiss)
        guard let value else { return nil }
        if isUsable(value) { return value }
        table.withLock { table in
            if countsHit, isRevived { table.statistics.weakHits &-= 1 }
            if countsHit, !isRevived { table.statistics.hits &-= 1 }
            if countsMiss { table.statistics.misses &+= 1 }
        }
        return nil
    }

    /// Whether there is a value. Does not count as a use.
    @inlinable
    public func contains(_ key: Key) -> Bool { peek(key) != nil }

    /// Returns the value like ``value(for:)``, but does not count as a use.
    @inlinable
    public func peek(_ key: Key) -> Value? {
        let hash = Table.hash(key)
        let now = clock.now()
        return table.withLock { table in
            let position = table.position(of: key, hash: hash)
            guard position >= 0 else { return nil }
            if table.isValid(position, at: now) { return table.entries[Int(position)].value }
            return table.livingValue(position, at: now, revival: revival)
        }
    }

    /// Returns when an entry expires; `nil` if it never does, or if there is none. Does not count as a use.
    public func expiration(for key: Key) -> CacheExpiration? {
        let hash = Table.hash(key)
        let now = clock.now()
        let deadline = table.withLock { table in
            let position = table.position(of: key, hash: hash)
            guard position >= 0, table.isValid(position, at: now) else { return ExpirationDeadline.never }
            return table.entries[Int(position)].deadline
        }
        guard !deadline.isNever else { return nil }
        let remaining = deadline.time - clock.now() / 1_000
        return .date(Date(timeIntervalSince1970: Double(clock.date() + remaining) / 1_000_000))
    }

    // MARK: Changing

    /// Stores the value as the most recently used, replacing any older one, and evicts others as the limits require.
    ///
    /// A value that costs more than ``costLimit`` is not stored; the key's older value is removed in any case.
    ///
    /// - Parameters:
    ///   - value: the value to store.
    ///   - key: the key under which look-ups find it.
    ///   - cost: counts towards ``costLimit``; a negative cost counts as 0.
    ///   - expiration: when the value expires; never by default.
    @inlinable
    public func set(_ value: Value, for key: Key, cost: Int = 0, expiration: CacheExpiration? = nil) {
        store(value, for: key, cost: max(0, cost), expiration: expiration, replaces: true)
    }

    /// Stores the value unless the key has one already, which may be an evicted one that is alive elsewhere.
    ///
    /// Either way the key's value is the most recently used afterwards. Costs, limits and expiration count as for
    /// ``set(_:for:cost:expiration:)``.
    ///
    /// - Returns: `true` if the value was stored.
    @discardableResult
    @inlinable
    func insert(_ value: Value, for key: Key, cost: Int = 0, expiration: CacheExpiration? = nil) -> Bool {
        store(value, for: key, cost: max(0, cost), expiration: expiration, replaces: false)
    }

    /// Removes the value and returns it. It is not found again, even if it is alive elsewhere.
    @discardableResult
    @inlinable
    public func remove(for key: Key) -> Value? {
        let hash = Table.hash(key)
        let now = clock.now()
        let (isValid, removed) = update { table -> (Bool, Table.Displaced?) in
            let position = table.position(of: key, hash: hash)
            guard position >= 0 else { return (false, nil) }
            return (table.isValid(position, at: now), table.remove(position))
        }
        if isValid { return removed?.value }
        if removed != nil { valueRelease.release(consume removed) }
        return nil
    }

    /// Removes everything. No value is found again, even if it is alive elsewhere.
    public func removeAll() {
        let removed = update { $0.removeAll() }
        valueRelease.release(consume removed)
    }

    // MARK: Statistics

    /// The statistics.
    public var statistics: MemoryCacheStatistics {
        table.withLock { table in
            var statistics = table.statistics
            (statistics.name, statistics.count, statistics.totalCost) = (name, table.count, table.totalCost)
            return statistics
        }
    }

    /// Resets all counts to 0; entries stay.
    public func resetStatistics() { table.withLock { $0.statistics = MemoryCacheStatistics() } }
}

// MARK: - Steps of the methods

extension MemoryCache {
    @usableFromInline var revival: ValueRevival<Value>? {
        guard let configuredRevival, configuredRevival.isUseful else { return nil }
        return configuredRevival
    }

    /// Uses the key's value. `isRevived` tells whether it was an evicted one that is alive elsewhere.
    @inlinable
    @inline(__always)
    func lookUp(_ key: Key, countsHit: Bool, countsMiss: Bool) -> (value: Value?, isRevived: Bool) {
        let hash = Table.hash(key)
        // The clock waits for all data that is being read, so it is read first.
        let now = clock.now()
        let (value, isInvalid) = table.withLock { table -> (Value?, Bool) in
            let position = table.position(of: key, hash: hash)
            guard position < 0 || table.isValid(position, at: now) else { return (nil, true) }
            if countsHit, position >= 0 { table.statistics.hits &+= 1 }
            if countsMiss, position < 0 { table.statistics.misses &+= 1 }
            return (position < 0 ? nil : table.use(position, at: now), false)
        }
        guard isInvalid else { return (value, false) }
        let revived = revive(key, hash: hash, at: now)
        table.withLock { table in
            if countsHit, revived != nil { table.statistics.weakHits &+= 1 }
            if countsMiss, revived == nil { table.statistics.misses &+= 1 }
        }
        return (revived, true)
    }

    /// Returns the value of an entry that is not valid, if it is alive elsewhere. It is then cached again, if the limits
    /// allow; otherwise, the entry is removed.
    @inlinable
    @inline(never)
    func revive(_ key: Key, hash: UInt32, at now: Int64) -> Value? {
        let (value, deadline, displaced) = update { table -> (Value?, ExpirationDeadline, Table.Displaced?) in
            let position = table.position(of: key, hash: hash)
            guard position >= 0 else { return (nil, .never, nil) }
            // Another thread may have stored it since.
            if table.isValid(position, at: now) { return (table.use(position, at: now), .never, nil) }
            let deadline = table.entries[Int(position)].deadline
            let (value, displaced) = table.revive(position, at: now, revival: revival)
            return (value, value == nil ? .never : deadline, displaced)
        }
        keepUp(with: deadline)
        if displaced != nil { valueRelease.release(consume displaced) }
        return value
    }

    @inlinable
    @discardableResult
    func store(_ value: Value, for key: Key, cost: Int, expiration: CacheExpiration?, replaces: Bool) -> Bool {
        let hash = Table.hash(key)
        let deadline = deadline(of: expiration)
        let now = clock.now()
        let (isStored, displaced) = update { table -> (Bool, Table.Displaced?) in
            var position = table.position(of: key, hash: hash)
            var expired: Table.Displaced?
            if !replaces, position >= 0 {
                if table.isValid(position, at: now) {
                    _ = table.use(position, at: now)
                    return (false, nil)
                }
                let (living, displaced) = table.revive(position, at: now, revival: revival)
                // Returned, since this may be the last reference to it.
                if living != nil { return (false, displaced ?? Table.Displaced(key: nil, value: living)) }
                (position, expired) = (-1, displaced)
            }
            let (isStored, displaced) = table.store(
                value, for: key, hash: hash, cost: cost, deadline: deadline, at: position, now: now, revival: revival)
            return (isStored, displaced ?? expired)
        }
        keepUp(with: deadline)
        if !valueRelease.isImmediate, displaced != nil { valueRelease.release(consume displaced) }
        return isStored
    }

    @inlinable
    func deadline(of expiration: CacheExpiration?) -> ExpirationDeadline {
        let expiration = expiration ?? self.expiration
        if case .never = expiration { return .never }
        return clock.deadline(of: expiration)
    }

    /// Changes the table, and then does what the change requires without the lock.
    @inlinable
    @inline(__always)
    func update<Result>(_ body: (inout Table) -> Result) -> Result {
        let (result, swept, isInExcess, isFilledOrEmptied) = table.withLock { table in
            let wasEmpty = table.count == 0
            let result = body(&table)
            return (result, table.sweepReferencesIfNeeded(), table.isInExcess, wasEmpty != (table.count == 0))
        }
        release(consume swept)
        if isInExcess { evict() }
        if isFilledOrEmptied { keepUp() }
        return result
    }

    /// Must be called without the lock.
    @inlinable
    func release(_ displaced: consuming [Table.Displaced]) {
        if !displaced.isEmpty { valueRelease.release(consume displaced) }
    }

    /// Evicts the least recently used entries one by one.
    ///
    /// - Parameters:
    ///   - goal: the limits if `nil`.
    ///   - entryLimit: the maximum number of them.
    /// - Returns: whether the goal may require more.
    @inlinable
    @discardableResult
    func evict(downTo goal: EvictionGoal? = nil, entryLimit: Int = .max) -> Bool {
        var displaced: [Table.Displaced] = []
        var remainingCount = entryLimit
        var isEmpty = false
        while remainingCount > 0 {
            let (evicted, swept) = table.withLock { table in
                let evicted = table.evictOldest(for: goal ?? table.limits.goal, revival: revival)
                isEmpty = table.count == 0
                return (evicted, table.sweepReferencesIfNeeded())
            }
            guard let evicted else { break }
            remainingCount &-= 1
            if valueRelease.isImmediate { continue }
            displaced.append(evicted)
            displaced += swept
        }
        if isEmpty { keepUp() }
        release(consume displaced)
        return remainingCount == 0
    }

    /// Schedules an earlier sweep if a deadline requires one.
    @inlinable
    func keepUp(with deadline: ExpirationDeadline) {
        if !deadline.isNever, upkeep.isLate(for: deadline) { keepUp() }
    }

    /// Schedules what the cache needs while it has entries: memory pressure reports and the next sweep.
    @usableFromInline
    func keepUp() { upkeep.update(for: self) }
}
