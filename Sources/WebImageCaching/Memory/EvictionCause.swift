/// Why an entry left a ``MemoryCache`` without being removed or replaced.
public enum EvictionCause: Int, Sendable, Hashable, CaseIterable {
    /// All entries together cost more than ``MemoryCache/costLimit``.
    case cost
    /// There were more entries than ``MemoryCache/countLimit``.
    case count
    /// It had not been used for ``MemoryCache/ageLimit``.
    case age
    /// Its ``CacheExpiration`` had passed.
    case expiration
    /// The system ran short of memory.
    case memoryPressure
    /// The program went to the background.
    case background
    /// A call of one of the `trim` methods.
    case trim
}
