#define _GNU_SOURCE
#include "layers.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The process sets its limits once, before the filter refuses to change them. Those for an image are set from outside.

enum {
    /// More threads than the rest of the system starts while a process runs.
    THREADS_OF_OTHERS = 4096,
    RESERVE_LENGTH = 64 << 20,
    /// Two stacks for each processor.
    STACKS_LENGTH = 16 << 20,
    MAXIMUM_STACKS_LENGTH = 448 << 20,
};

/// The address space of the process before it decodes, and the part of it that is private and can be written.
static uint64_t base_length, base_data_length;

/// How much the process has of a resource that limits memory. Finds the limit at which it gets another page, which needs no /proc.
static uint64_t measure(__rlimit_resource_t resource) {
    struct rlimit old;
    if (getrlimit(resource, &old) != 0) return 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t low = 0, high = old.rlim_max < (UINT64_C(1) << 42) ? old.rlim_max : UINT64_C(1) << 42;
    while (high - low > page) {
        struct rlimit tried = {.rlim_cur = low + (high - low) / 2, .rlim_max = old.rlim_max};
        if (setrlimit(resource, &tried) != 0) return 0;
        void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            low = tried.rlim_cur;
        } else {
            munmap(memory, page);
            high = tried.rlim_cur;
        }
    }
    // Some systems accept the limit and do not enforce it.
    return setrlimit(resource, &old) == 0 && high > 2 * page ? high : 0;
}

void cwi_measure_memory(void) {
    base_length = measure(RLIMIT_AS);
    base_data_length = measure(RLIMIT_DATA);
}

static uint64_t length_for_threads(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t length = (uint64_t)(processors > 0 ? processors : 1) * STACKS_LENGTH;
    return RESERVE_LENGTH + (length < MAXIMUM_STACKS_LENGTH ? length : MAXIMUM_STACKS_LENGTH);
}

/// Limits a resource to `value`, or to what is allowed already. The process cannot raise it again.
static int limit(__rlimit_resource_t resource, uint64_t value) {
    struct rlimit old;
    if (getrlimit(resource, &old) != 0) return errno;
    rlim_t maximum = old.rlim_max != RLIM_INFINITY && old.rlim_max < value ? old.rlim_max : value;
    struct rlimit limits = {.rlim_cur = maximum, .rlim_max = maximum};
    return error_of(setrlimit(resource, &limits));
}

static int highest_descriptor(void) {
    int highest = 0;
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0) highest = descriptor;
    }
    return highest;
}

/// How many threads the whole system has.
static uint64_t system_thread_count(void) {
    unsigned long count = 0;
    FILE *file = fopen("/proc/loadavg", "re");
    if (file && fscanf(file, "%*f %*f %*f %*u/%lu", &count) != 1) count = 0;
    if (file) fclose(file);
    struct sysinfo system;
    // It counts to 65,535.
    return count == 0 && sysinfo(&system) == 0 ? system.procs : count;
}

/// The system counts the threads of a user. Where the user has other processes, their threads must not use the limit up.
int cwi_limit_threads(uint64_t count, bool is_only_process_of_user) {
    int error = limit(RLIMIT_NPROC, is_only_process_of_user ? count : system_thread_count() + THREADS_OF_OTHERS);
    struct rlimit limits;
    if (error || getrlimit(RLIMIT_NPROC, &limits) != 0) return error ? error : errno;
    // The limit does not hold for root.
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limits.rlim_max};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) return errno;
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
    error = error_of(setrlimit(RLIMIT_NPROC, &limits));
    return child > 0 ? EPERM : error;
}

int cwi_set_limits(cwi_sandbox_limits limits) {
    int error = limit(RLIMIT_CORE, 0);
    if (!error) error = limit(RLIMIT_FSIZE, 0);
    // For those of a message and of the libraries' own.
    if (!error) error = limit(RLIMIT_NOFILE, (uint64_t)highest_descriptor() + 32);
    if (!error) error = limit(RLIMIT_MEMLOCK, 0);
    if (!error) error = limit(RLIMIT_MSGQUEUE, 0);
    if (!error) error = limit(RLIMIT_CPU, limits.processor_seconds);
    // What the process shares with the program is bounded by the program; it needs addresses only.
    uint64_t length = 2 * limits.memory_length + length_for_threads();
    if (!error) error = base_length ? limit(RLIMIT_AS, base_length + length) : ENODATA;
    if (!error) error = base_data_length ? limit(RLIMIT_DATA, base_data_length + length) : ENODATA;
    return error;
}

static uint64_t sum(uint64_t a, uint64_t b) { return a < UINT64_MAX - b ? a + b : UINT64_MAX; }

/// Sets what holds now, at most what was set first.
static void set_current(pid_t process, __rlimit_resource_t resource, uint64_t value) {
    struct rlimit limits;
    if (prlimit(process, resource, NULL, &limits) != 0) return;
    limits.rlim_cur = value < limits.rlim_max ? value : limits.rlim_max;
    prlimit(process, resource, &limits, NULL);
}

static uint64_t processor_seconds_of(pid_t process) {
    clockid_t clock;
    struct timespec used;
    return clock_getcpuclockid(process, &clock) == 0 && clock_gettime(clock, &used) == 0 ? (uint64_t)used.tv_sec : 0;
}

void cwi_limit_process(pid_t process, uint64_t memory_length, uint64_t processor_seconds) {
    set_current(process, RLIMIT_DATA, sum(base_data_length + length_for_threads(), memory_length));
    // Whole seconds, from those in which it has begun.
    set_current(process, RLIMIT_CPU, sum(processor_seconds_of(process) + 2, processor_seconds));
}

void cwi_sandbox_keep_memory(void) {
    // By default blocks from 128 KiB on are mapped and unmapped each time. 32 MiB is the maximum of the C library.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    // The heap of another arena has at most 64 MiB, and what it keeps is of no use to other threads.
    mallopt(M_ARENA_MAX, 1);
}

void cwi_sandbox_release_memory(void) { malloc_trim(0); }
