#ifndef CWEBIMAGE_LOCK_H
#define CWEBIMAGE_LOCK_H

#include <stdint.h>

// A lock of four bytes, on Linux's futex. A thread that finds it free takes it: a thread that sleeps does not get it handed
// over, which would make all others wait until it runs.

typedef struct {
    // 0 if free, 1 if taken, 2 if taken and a thread may be asleep. All accesses are atomic.
    uint32_t state;
} cwi_lock;

/// Lets the processor rest for a moment in a loop that waits for another thread.
static inline void cwi_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

void cwi_lock_wait(cwi_lock *lock);
void cwi_lock_wake(cwi_lock *lock);

static inline void cwi_lock_acquire(cwi_lock *lock) {
    uint32_t state = 0;
    if (!__atomic_compare_exchange_n(&lock->state, &state, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        cwi_lock_wait(lock);
}

static inline void cwi_lock_release(cwi_lock *lock) {
    if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2)
        cwi_lock_wake(lock);
}

// The same as calls, which ThreadSanitizer sees: it does not instrument inline functions of C in Swift.
void cwi_lock_acquire_seen(cwi_lock *lock);
void cwi_lock_release_seen(cwi_lock *lock);

#endif
