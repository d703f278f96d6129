#if WEBIMAGE_TSAN
    internal import Glibc
#else
    // Public only because `withLock` is compiled into other modules of this package.
    public import Synchronization
#endif

// `@usableFromInline`: of a class that is no more than `package` nothing is inlined in other modules, whatever its methods say,
// and a use of the lock would take ten times as long.

/// A value that only the holder of a lock can touch.
///
/// The lock is `Synchronization.Mutex`. ThreadSanitizer does not see that lock's futex on Linux and reports races that
/// are none, so a build for it (`WEBIMAGE_TSAN=1`) takes a pthread mutex instead.
///
/// Nothing may call out to a client's code while it holds a lock.
@usableFromInline package final class Lock<Value>: @unchecked Sendable {
    // `@unchecked`: `value` is reached in `withLock` only, where the mutex is held; so there is no need to watch over its
    // exclusive use at run time either.
    @exclusivity(unchecked) @usableFromInline package var value: Value

    #if WEBIMAGE_TSAN
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    #else
        @usableFromInline package let mutex = Mutex<Void>(())
    #endif

    #if WEBIMAGE_TSAN
        /// Makes a lock that guards `value`.
        package init(_ value: sending Value) {
            self.value = value
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        /// Runs `body` with the value, alone.
        package func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&value)
        }
    #else
        /// Makes a lock that guards `value`.
        @inlinable package init(_ value: sending Value) { self.value = value }

        /// Runs `body` with the value, alone.
        @inlinable package func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            mutex._unsafeLock()
            defer { mutex._unsafeUnlock() }
            return try body(&value)
        }
    #endif
}
