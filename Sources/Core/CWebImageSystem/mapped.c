#define _GNU_SOURCE
#include "CWebImageSystem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// The mappings of files that other programs can shorten. A slot without a start is free.
enum { COUNT = 64 };
static struct {
    _Atomic uintptr_t start;
    _Atomic size_t length;
} mappings[COUNT];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_installed;
static uintptr_t page;
static struct sigaction former;

/// Puts zeros in place of the pages that a file no longer has. Everything here may be done in a signal handler: atomics, and system calls.
static void handle(int signal, siginfo_t *info, void *context) {
    int error = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    for (int index = 0; info->si_code > 0 && index < COUNT; index++) {
        uintptr_t start = atomic_load(&mappings[index].start);
        size_t length = atomic_load(&mappings[index].length);
        if (start == 0 || address < start || address - start >= length) continue;
        uintptr_t first = address / page * page;
        void *zeros = mmap((void *)first, start + length - first, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        if (zeros == MAP_FAILED) break;
        errno = error;
        return;
    }
    errno = error;
    if (former.sa_flags & SA_SIGINFO) return former.sa_sigaction(signal, info, context);
    if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) return former.sa_handler(signal);
    // The same access, or the signal that another process has sent, ends the process now.
    sigaction(signal, &former, NULL);
    if (info->si_code <= 0) raise(signal);
}

static bool install(void) {
    if (is_installed) return true;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    return is_installed = sigaction(SIGBUS, &action, &former) == 0;
}

void *cwi_map_file(int descriptor, size_t length) {
    pthread_mutex_lock(&lock);
    int index = 0;
    while (index < COUNT && atomic_load(&mappings[index].start) != 0) index++;
    void *start = MAP_FAILED;
    // Writable and private: nothing writes to it, and if something did, only private pages would change.
    if (index == COUNT) errno = ENOMEM;
    else if (length > 0 && install()) {
        start = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    }
    if (start != MAP_FAILED) {
        atomic_store(&mappings[index].length, length);
        atomic_store(&mappings[index].start, (uintptr_t)start);
    }
    pthread_mutex_unlock(&lock);
    return start == MAP_FAILED ? NULL : start;
}

void cwi_unmap_file(void *start, size_t length) {
    pthread_mutex_lock(&lock);
    for (int index = 0; index < COUNT; index++) {
        if (atomic_load(&mappings[index].start) == (uintptr_t)start) atomic_store(&mappings[index].start, 0);
    }
    munmap(start, length);
    pthread_mutex_unlock(&lock);
}
