public import WebImageCore

extension MemoryCache {
    /// What a memory cache keeps, and for how long.
    public struct Configuration: Sendable {
        /// The most that all entries may cost together, in the unit of the caller's choice (bytes, for images). Values above
        /// `Int.max / 2` count as that. No limit by default.
        public var costLimit: Int
        /// The most entries. No limit by default.
        public var countLimit: Int
        /// The most that one entry may cost; what costs more is not kept. No limit of its own by default.
        public var entryCostLimit = Int.max
        /// How long an entry is kept without being used, in seconds. No limit by default.
        public var ageLimit = Double.infinity
        /// Until when an entry is good that is stored without an expiration of its own. For ever by default.
        public var expiration = CacheExpiration.never
        /// What a use does to the expiration of an entry. Nothing by default.
        public var expirationExtension = ExpirationExtension.none
        /// How to find values again that the cache let go but that are alive elsewhere, such as pictures on the screen.
        /// `nil`, the default: they are not.
        public var revival: ValueRevival<Value>?
        /// Where values are released; by default on the thread whose call displaced them.
        public var valueRelease = ValueRelease.caller
        /// What tells that memory is short: at a warning half of the cache is given back, when it is critical all of it.
        /// By default the system does; `nil` for a cache that never gives anything back.
        public var pressureSource: (any MemoryPressureSource)? = SystemMemoryPressure()
        /// Whether ``MemoryCache/didEnterBackground()`` empties the cache. `true` by default.
        public var removesAllInBackground = true

        /// Makes the defaults, with these limits.
        public init(costLimit: Int = .max, countLimit: Int = .max) {
            self.costLimit = costLimit
            self.countLimit = countLimit
        }
    }
}

extension MemoryCache.Configuration where Value == Image {
    /// How long decoded pictures are kept without being used: 12 hours, in seconds.
    public static var defaultImageAge: Double { 12 * 3_600 }

    /// The configuration for decoded pictures: 20 % of the memory, at most 1 GiB, and 12 hours without a use; those that
    /// are still on the screen are found again after an eviction.
    public static var images: Self {
        var configuration = Self(costLimit: MemoryBudget.defaultImageCost())
        configuration.ageLimit = defaultImageAge
        configuration.revival = .weakPixels
        return configuration
    }
}
