#if WEBIMAGE_TSAN
    internal import Glibc
#else
    // Public only because `withLock` is compiled into other modules of this package.
    public import Synchronization
#endif

// `@usableFromInline`: methods of a class that is only `package` are never inlined into other modules, and using the
// lock would take ten times as long.

/// A value protected by a lock.
///
/// The lock is `Synchronization.Mutex`. ThreadSanitizer does not see that lock's futex on Linux and reports false
/// races, so a build for it (`WEBIMAGE_TSAN=1`) uses a pthread mutex instead.
///
/// Client code must never be called while a lock is held.
@usableFromInline package final class Lock<Value>: @unchecked Sendable {
    // `@unchecked`: `value` is accessed only in `withLock`, where the mutex is held. This also makes the exclusivity
    // check at run time unnecessary.
    @exclusivity(unchecked) @usableFromInline package var value: Value

    #if WEBIMAGE_TSAN
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    #else
        @usableFromInline package let mutex = Mutex<Void>(())
    #endif

    #if WEBIMAGE_TSAN
        /// Creates a lock that guards `value`.
        @usableFromInline package init(_ value: sending Value) {
            self.value = value
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        /// Runs `body` with exclusive access to the value.
        @usableFromInline package func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&value)
        }
    #else
        /// Creates a lock that guards `value`.
        @inlinable package init(_ value: sending Value) { self.value = value }

        /// Runs `body` with exclusive access to the value.
        @inlinable package func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            mutex._unsafeLock()
            defer { mutex._unsafeUnlock() }
            return try body(&value)
        }
    #endif
}
