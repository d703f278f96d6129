internal import Dispatch
public import WebImageCore

extension MemoryCache {
    /// The limits and other settings of a memory cache.
    ///
    /// ```swift
    /// var configuration = MemoryCache<ImageCacheKey, Image>.Configuration.images
    /// configuration.countLimit = 500
    /// let memory = MemoryCache(configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The maximum total cost of all entries, in a unit of the caller's choice (bytes, for images). Clamped to
        /// `Int.max / 2`. No limit by default.
        public var costLimit: Int
        /// The maximum number of entries. No limit by default.
        public var countLimit: Int
        /// The maximum cost of one entry; more expensive values are not stored. No limit by default.
        public var entryCostLimit = Int.max
        /// How long an entry is kept without being used; `nil`, the default, is no limit.
        public var ageLimit: Duration?
        /// When entries expire that are stored without an expiration. Never by default.
        public var expiration = CacheExpiration.never
        /// The effect of a use on the expiration of an entry. None by default.
        public var expirationExtension = ExpirationExtension.none
        /// How to find evicted values that are still alive elsewhere, such as images on screen. `nil`, the default,
        /// does not find them.
        var revival: ValueRevival<Value>?
        /// Runs the work that releases values which were removed, replaced or evicted, for example on a queue. `nil`,
        /// the default, releases them on the thread whose call displaced them; after memory pressure or expiration,
        /// this may be a thread of the library.
        ///
        /// This matters for values whose release is expensive, or must happen on a certain thread. Values stay in
        /// memory until the closure runs the work. It is never called under a lock.
        public var releaseHandler: (@Sendable (_ work: @escaping @Sendable () -> Void) -> Void)? {
            get { if case .custom(let handler) = valueRelease { handler } else { nil } }
            set { valueRelease = newValue.map(ValueRelease.custom) ?? .caller }
        }
        var valueRelease = ValueRelease.caller
        /// Reports memory pressure. The system by default; `nil`, in tests, for no reports.
        var pressureSource: MemoryPressureSource? = .system
        /// The share of the cache that a warning of low memory leaves, from 0 to 1: of the total cost or, where entries
        /// cost nothing, of the entries; the most recently used stay. 0.5 by default. A critical report leaves nothing.
        /// With 1, the cache ignores memory pressure.
        public var shareKeptUnderPressure = 0.5
        /// The share that ``MemoryCache/didEnterBackground()`` leaves, from 0 to 1. 0 by default.
        public var shareKeptInBackground = 0.0
        /// Called after the cache has responded to a report of low memory, on the thread that reports; only while it has
        /// entries. `nil` by default.
        public var didReceivePressure: (@Sendable (_ isCritical: Bool) -> Void)?
        /// Called by ``MemoryCache/didEnterBackground()`` on its thread, after the cache has responded. `nil` by default.
        public var didEnterBackground: (@Sendable () -> Void)?
        /// The name of the cache, which its statistics repeat. `nil` by default.
        public var name: String?

        /// Creates the default configuration with these limits, which can be changed later (``MemoryCache/costLimit``,
        /// ``MemoryCache/countLimit``).
        public init(costLimit: Int = .max, countLimit: Int = .max) {
            self.costLimit = costLimit
            self.countLimit = countLimit
        }
    }
}

extension MemoryCache.Configuration where Value == Image {
    /// How long decoded images are kept without being used: 12 hours.
    static var defaultImageAge: Duration { .seconds(12 * 3_600) }

    /// Whether evicted images are found again while they are alive elsewhere, such as on screen. They are not kept
    /// alive. Animated images, and those with ``Image/extendedData``, are not found.
    ///
    /// `nil`, the default of ``images``, finds them in programs with the views of `WebImageGTK`. Other programs rarely keep
    /// images, and an eviction takes twice as long if it leaves a reference behind.
    public var findsLivingImages: Bool? {
        get { revival.map { $0.needsViews ? nil : true } ?? false }
        set { revival = newValue.map { $0 ? .weakPixels : nil } ?? .weakPixelsOfViews }
    }

    /// The configuration for decoded images: 20 % of the available memory, at most 1 GiB, and 12 hours without a use.
    /// In programs with views, images that are still alive elsewhere are found again after an eviction.
    public static var images: Self {
        var configuration = Self(costLimit: MemoryBudget.defaultImageCost())
        configuration.ageLimit = defaultImageAge
        configuration.revival = .weakPixelsOfViews
        return configuration
    }
}

enum MemoryBudget {
    /// 20 % of the memory available to the process, at most 1 GiB, in bytes.
    ///
    /// The available memory is the machine's, or a lower limit of the process's control group (as in containers).
    static func defaultImageCost() -> Int { min(AvailableMemory.totalBytes() / 5, 1 << 30) }
}

/// How a ``MemoryCache`` finds evicted values that are still alive elsewhere. It does not keep them alive.
@usableFromInline struct ValueRevival<Value: Sendable>: Sendable {
    /// Makes the reference to a value that is alive elsewhere; `nil` if the argument has the last reference, or if the
    /// value cannot be revived. Called under the cache's lock, so it must not run code of the app.
    @usableFromInline let makeReference: @Sendable (inout Value) -> Reference?
    /// Whether the references can win time only in programs with views.
    var needsViews = false

    @usableFromInline var isUseful: Bool { !needsViews || ViewPresence.isAnnounced }

    init(makeReference: @escaping @Sendable (inout Value) -> Reference?) { self.makeReference = makeReference }

    /// A weak reference.
    @usableFromInline final class Reference: Sendable {
        // Only the initializer sets it. `weak let` needs Swift 6.3.
        nonisolated(unsafe) private weak var object: (any AnyObject & Sendable)?
        // Most closures need nothing but the object. Others take longer to make and to release.
        private let makeValue: @Sendable (any AnyObject & Sendable) -> Value?

        init(
            _ object: any AnyObject & Sendable, _ makeValue: @escaping @Sendable (any AnyObject & Sendable) -> Value?
        ) {
            self.object = object
            self.makeValue = makeValue
        }

        /// The value; `nil` if it was deallocated.
        @usableFromInline var value: Value? { object.flatMap(makeValue) }
    }
}

extension ValueRevival where Value: AnyObject {
    /// Finds objects that are alive.
    static var weak: ValueRevival {
        ValueRevival { value in
            isKnownUniquelyReferenced(&value) ? nil : Reference(value) { unsafeDowncast($0, to: Value.self) }
        }
    }
}

extension ValueRevival where Value == Image {
    /// The same as ``weakPixels``, but only in programs with views.
    static var weakPixelsOfViews: ValueRevival {
        var revival = weakPixels
        revival.needsViews = true
        return revival
    }

    /// Finds images of which there are copies, such as those on screen, or whose pixels are alive, and whose
    /// ``Image/data``, if any, is alive. Animated images and those with ``Image/extendedData`` are not found again.
    static var weakPixels: ValueRevival {
        ValueRevival { image in LivingImage(&image).map(Reference.init) }
    }
}

extension ValueRevival<Image>.Reference {
    convenience init(_ living: LivingImage) { self.init(living.object, living.image) }
}

/// Where a ``MemoryCache`` releases values that it removes, replaces or evicts; never under a lock.
///
/// This matters for values whose release is expensive, or must happen on a certain thread.
@usableFromInline enum ValueRelease: Sendable {
    /// On the thread whose call displaced them. After memory pressure, expiration or the trimming of many entries, this
    /// may be a thread of the library. The default, since releasing an image only returns its memory to a pool.
    case caller
    /// On a global dispatch queue, at low priority.
    case background
    /// Where the closure runs the work it is given, such as on the main queue. It is called on the thread whose call
    /// displaced the values; they stay in memory until it runs the work.
    case custom(@Sendable (_ work: @escaping @Sendable () -> Void) -> Void)

    /// Whether the thread that displaces values releases them.
    @inlinable var isImmediate: Bool {
        if case .caller = self { true } else { false }
    }

    /// Releases values. The caller must `consume` them: a remaining reference would be the last one, on the wrong
    /// thread.
    @usableFromInline
    func release<Values>(_ values: consuming Values) {
        let execute: @Sendable (@escaping @Sendable () -> Void) -> Void
        switch self {
        case .caller:
            _ = consume values
            return
        case .background: execute = { DispatchQueue.global(qos: .utility).async(execute: $0) }
        case .custom(let closure): execute = closure
        }
        let bin = Bin(consume values)
        execute { bin.empty() }
    }

    /// The thread that empties it releases the values, even if the closure is retained.
    private final class Bin<Values>: @unchecked Sendable {
        // `@unchecked`: the values were given away, and are taken out once, under the lock.
        private var values: Values?
        private let lock = Lock(0)

        init(_ values: consuming Values) { self.values = consume values }

        func empty() {
            let values = lock.withLock { _ in
                defer { self.values = nil }
                return self.values
            }
            withExtendedLifetime(values) {}
        }
    }
}

/// Why an entry left a ``MemoryCache`` without being removed or replaced.
@usableFromInline
enum EvictionCause: Int, Sendable, Hashable, CaseIterable {
    /// All entries together cost more than ``MemoryCache/costLimit``.
    case cost
    /// There were more entries than ``MemoryCache/countLimit``.
    case count
    /// It was not used for ``MemoryCache/ageLimit``.
    case age
    /// Its ``CacheExpiration`` had passed.
    case expiration
    /// Memory was low.
    case memoryPressure
    /// The app went to the background.
    case background
    /// A call of one of the `trim` methods.
    case trim
}

/// The statistics of a ``MemoryCache`` since it was created, or since ``MemoryCache/resetStatistics()``.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// The name of the cache.
    public package(set) var name: String?
    /// Look-ups that found a cached value.
    public var hitCount: Int { hits }
    /// Look-ups that found an evicted value that was still alive elsewhere.
    public var weakHitCount: Int { weakHits }
    /// Look-ups that found nothing.
    public var missCount: Int { misses }
    /// Values stored, including replacements.
    public var insertionCount: Int { insertions }
    /// Evicted entries.
    public var evictionCount: Int { evictionCounts.total }
    /// The current number of entries.
    public package(set) var count = 0
    /// Their current total cost.
    public package(set) var totalCost = 0
    // The counts that inlined functions change.
    @usableFromInline var hits = 0
    @usableFromInline var weakHits = 0
    @usableFromInline var misses = 0
    @usableFromInline var insertions = 0
    @usableFromInline var evictionCounts = EvictionCounts()

    /// Creates statistics with all counts 0.
    @usableFromInline init() {}

    /// The fraction of look-ups that found a value, from 0 to 1; 0 before the first one.
    public var hitRate: Double {
        let found = hitCount + weakHitCount
        return found == 0 ? 0 : Double(found) / Double(found + missCount)
    }

    /// A number for each ``EvictionCause``.
    @usableFromInline struct EvictionCounts: Sendable, Hashable {
        @usableFromInline var counts = [Int](repeating: 0, count: EvictionCause.allCases.count)

        @usableFromInline init() {}

        /// The entries evicted for this cause.
        @inlinable
        subscript(cause: EvictionCause) -> Int {
            get { counts[cause.rawValue] }
            set { counts[cause.rawValue] = newValue }
        }

        /// The entries evicted for any cause.
        @usableFromInline var total: Int { counts.reduce(0, +) }
    }
}
