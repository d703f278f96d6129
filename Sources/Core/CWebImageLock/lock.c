#define _GNU_SOURCE
#include "CWebImageLock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// Most locks are free again after a few hundred cycles; going to sleep and waking takes tens of thousands.
enum { attempts = 100 };

void cwi_lock_wait(cwi_lock *lock) {
    for (int attempt = 0; attempt < attempts; attempt++) {
        uint32_t state = __atomic_load_n(&lock->state, __ATOMIC_RELAXED);
        if (state == 0 &&
            __atomic_compare_exchange_n(&lock->state, &state, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        cwi_pause();
    }
    // Callers may lock between a system call and reading its error.
    int error = errno;
    while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    errno = error;
}

void cwi_lock_wake(cwi_lock *lock) {
    // Another thread may have taken and released the lock since, and even freed its memory. The call does not access
    // the memory, and waking no thread does nothing.
    int error = errno;
    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = error;
}

void cwi_lock_acquire_seen(cwi_lock *lock) { cwi_lock_acquire(lock); }
void cwi_lock_release_seen(cwi_lock *lock) { cwi_lock_release(lock); }
