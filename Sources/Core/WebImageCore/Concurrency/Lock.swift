// Public only because `withLock` is compiled into other modules of this package.
public import CWebImageLock
public import Synchronization

// `@usableFromInline`: methods of a type that is only `package` are never inlined into other modules, and using the
// lock would take ten times as long.

/// A value protected by a lock, stored in place.
///
/// The lock is our own, of four bytes. `Synchronization.Mutex` inherits priorities: whenever threads compete for it, the
/// kernel passes it to one that sleeps, and all others wait until that one runs. With it, loads from disk took twice as
/// long; with a pthread mutex, look-ups in memory took a fifth longer.
///
/// It cannot be copied, so closures that share a value capture a ``LockBox`` or an object that has the lock. Client
/// code must never be called while a lock is held.
@usableFromInline package struct Lock<Value>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: the value is accessed only in `withLock`, where the lock is held.
    #if WEBIMAGE_TSAN || compiler(>=6.4)
        // ThreadSanitizer takes an access to the value in place for one to the lock beside it. Compilers that were not tried may lack
        // `_Cell`, which is no public part of the standard library; an allocation for each lock then replaces it.
        @usableFromInline let lock: UnsafeMutablePointer<cwi_lock>
        @usableFromInline let value: UnsafeMutablePointer<Value>

        /// Creates a lock that guards `value`.
        @inlinable package init(_ value: sending Value) {
            lock = .allocate(capacity: 1)
            lock.initialize(to: cwi_lock(state: 0))
            self.value = .allocate(capacity: 1)
            self.value.initialize(to: value)
        }

        deinit {
            lock.deallocate()
            value.deinitialize(count: 1)
            value.deallocate()
        }

        /// Runs `body` with exclusive access to the value.
        @inlinable package borrowing func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            cwi_lock_acquire_seen(lock)
            defer { cwi_lock_release_seen(lock) }
            return try body(&value.pointee)
        }
    #else
        // `_Cell` is the standard library's memory for `Mutex` and `Atomic`, whose address stays the same.
        @usableFromInline let lock = _Cell(cwi_lock(state: 0))
        @usableFromInline let value: _Cell<Value>

        /// Creates a lock that guards `value`.
        @inlinable package init(_ value: sending Value) { self.value = _Cell(value) }

        /// Runs `body` with exclusive access to the value.
        @inlinable package borrowing func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            cwi_lock_acquire(lock._address)
            defer { cwi_lock_release(lock._address) }
            return try body(&value._address.pointee)
        }
    #endif
}

/// A ``Lock`` that closures can share.
@usableFromInline package final class LockBox<Value>: Sendable {
    @usableFromInline let lock: Lock<Value>

    @inlinable package init(_ value: sending Value) { lock = Lock(value) }

    /// Runs `body` with exclusive access to the value.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try lock.withLock(body)
    }
}
