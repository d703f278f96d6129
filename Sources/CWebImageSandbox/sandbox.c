#define _GNU_SOURCE
#include "CWebImageSandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Debian 12's headers are older than these.
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

/// The address space of the threads' stacks and arenas, of which little is used.
enum { MEMORY_FOR_THREADS = 512 << 20 };

/// As in shells, the status of a process that a signal has ended is this and the signal's number.
enum { SIGNAL_STATUS = 128 };

/// The memory of the process before it decodes, or 0 if it is not known.
static size_t base_memory_length;
static size_t sandbox_memory_length;

static void set_layer(cwi_sandbox_report *report, cwi_layer layer, int error) {
    report->errors[layer] = error;
    if (!error) report->active |= UINT32_C(1) << layer;
}

static bool has_layer(const cwi_sandbox_report *report, cwi_layer layer) { return report->active & (UINT32_C(1) << layer); }

static int error_of(int result) { return result < 0 ? errno : 0; }

// MARK: Namespaces

/// The process that stays outside: it ends as its child does. It has read nothing and holds nothing.
static _Noreturn void end_like(pid_t child) {
    for (int descriptor = 0; descriptor < 1024; descriptor++) close(descriptor);
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) _exit(127);
    }
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - SIGNAL_STATUS;
    if (number <= 0 || number >= NSIG) _exit(WEXITSTATUS(status));
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    raise(number);
    _exit(SIGNAL_STATUS + number);
}

static void exit_for(int number) { _exit(SIGNAL_STATUS + number); }

/// A namespace of processes holds only children, so the process continues as one.
static int enter_processes(void) {
    if (unshare(CLONE_NEWPID) != 0) return errno;
    pid_t child = fork();
    // Without a child nothing can be started here any more: the namespace would be the child's. Nothing is to be started.
    if (child < 0) return errno;
    if (child > 0) end_like(child);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return 0;
}

/// Makes an empty directory that cannot be written the root.
static int enter_empty_root(void) {
    static const char *const places[] = {"/tmp", "/proc", "/dev", "/sys", "/usr", "/"};
    if (unshare(CLONE_NEWNS) != 0) return errno;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return errno;
    int error = ENOENT;
    for (size_t index = 0; index < sizeof places / sizeof *places && error; index++) {
        unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
        if (mount("tmpfs", places[index], "tmpfs", flags, "size=4096,nr_inodes=2,mode=0555") != 0) {
            error = errno;
            continue;
        }
        if (chdir(places[index]) != 0) return errno;
        if (mount(NULL, ".", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) != 0) return errno;
        // With the same directory twice, the old root is on top of the new one. A root that is no mount, as after chroot, cannot be
        // exchanged.
        if (syscall(SYS_pivot_root, ".", ".") == 0) {
            error = error_of(umount2(".", MNT_DETACH));
        } else {
            error = error_of(chroot("."));
        }
    }
    if (error) return error;
    return error_of(chdir("/"));
}

static void enter_namespaces(cwi_sandbox_report *report) {
    // Without a map, the process has no user inside. Outside nothing changes.
    set_layer(report, CWI_LAYER_USER_NAMESPACE, error_of(unshare(CLONE_NEWUSER)));
    set_layer(report, CWI_LAYER_NETWORK_NAMESPACE, error_of(unshare(CLONE_NEWNET)));
    set_layer(report, CWI_LAYER_IPC_NAMESPACE, error_of(unshare(CLONE_NEWIPC)));
    set_layer(report, CWI_LAYER_PID_NAMESPACE, enter_processes());
    set_layer(report, CWI_LAYER_MOUNT_NAMESPACE, enter_empty_root());
}

// MARK: Privileges

static int drop_capabilities(void) {
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    // These need a capability themselves, and fail without it: then there is none to lose either.
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                                 SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}}, found[2] = {{0}};
    if (syscall(SYS_capset, &header, none) != 0) return errno;
    if (syscall(SYS_capget, &header, found) != 0) return errno;
    for (int index = 0; index < 2; index++) {
        if (found[index].effective | found[index].permitted | found[index].inheritable) return EPERM;
    }
    return 0;
}

// MARK: Limits

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

static int set_limits(cwi_sandbox_limits limits, bool has_own_user) {
    int error = limit(RLIMIT_CORE, 0);
    if (!error) error = limit(RLIMIT_FSIZE, 0);
    // For those of a message and of the libraries' own.
    if (!error) error = limit(RLIMIT_NOFILE, (uint64_t)highest_descriptor() + 32);
    if (!error) error = limit(RLIMIT_MEMLOCK, 0);
    if (!error) error = limit(RLIMIT_MSGQUEUE, 0);
    if (!error) error = limit(RLIMIT_CPU, limits.processor_seconds);
    // The system counts the threads of a user. Those of this user outside must not count.
    if (!error && has_own_user) error = limit(RLIMIT_NPROC, limits.thread_count);
    sandbox_memory_length = limits.memory_length;
    if (!error && base_memory_length) error = limit(RLIMIT_AS, base_memory_length + 2 * limits.memory_length + MEMORY_FOR_THREADS);
    if (!error && !base_memory_length) error = ENODATA;
    return error;
}

static void measure_memory(void) {
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;
    if (file && fscanf(file, "%lu", &pages) == 1) base_memory_length = pages * (size_t)sysconf(_SC_PAGESIZE);
    if (file) fclose(file);
}

bool cwi_sandbox_limit(size_t memory_length, size_t mapped_length, double processor_seconds) {
    struct rlimit memory, processor;
    struct rusage usage;
    if (!base_memory_length || getrlimit(RLIMIT_AS, &memory) != 0) return false;
    size_t length = memory_length < sandbox_memory_length ? memory_length : sandbox_memory_length;
    memory.rlim_cur = base_memory_length + mapped_length + length + MEMORY_FOR_THREADS;
    if (memory.rlim_cur > memory.rlim_max) memory.rlim_cur = memory.rlim_max;
    if (setrlimit(RLIMIT_AS, &memory) != 0) return false;
    if (getrlimit(RLIMIT_CPU, &processor) != 0 || getrusage(RUSAGE_SELF, &usage) != 0) return false;
    // Whole seconds; the decoders' own checks are more exact, and come first.
    uint64_t used = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1;
    processor.rlim_cur = processor.rlim_max;
    if (processor_seconds > 0 && processor_seconds < 1e6) processor.rlim_cur = used + (uint64_t)processor_seconds + 1;
    if (processor.rlim_cur > processor.rlim_max) processor.rlim_cur = processor.rlim_max;
    return setrlimit(RLIMIT_CPU, &processor) == 0;
}

void cwi_sandbox_keep_memory(void) {
    // By default blocks from 128 KiB on are mapped and unmapped each time. 32 MiB is the maximum of the C library.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    // The heap of another arena has at most 64 MiB, and what it keeps is of no use to other threads.
    mallopt(M_ARENA_MAX, 1);
}

void cwi_sandbox_release_memory(void) { malloc_trim(0); }

// MARK: Landlock

/// A set of rules without a rule: nothing of what it handles is allowed.
typedef struct {
    uint64_t handled_access_fs, handled_access_net, scoped;
} landlock_attributes;

static void enter_landlock(cwi_sandbox_report *report) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    int error = error_of((int)version);
    report->landlock_version = version > 0 ? (int32_t)version : 0;
    set_layer(report, CWI_LAYER_LANDLOCK_SCOPES, error ? error : ENOSYS);
    if (error) {
        set_layer(report, CWI_LAYER_LANDLOCK, error);
        return;
    }
    landlock_attributes attributes = {.handled_access_fs = (1ULL << 13) - 1};
    size_t length = sizeof attributes.handled_access_fs;
    if (version >= 2) attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3) attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
    if (version >= 4) {
        // TCP: bind and connect.
        attributes.handled_access_net = 3;
        length = offsetof(landlock_attributes, scoped);
    }
    if (version >= 5) attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
    if (version >= 6) {
        // Abstract sockets, and signals to processes outside.
        attributes.scoped = 3;
        length = sizeof attributes;
    }
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, length, 0);
    error = error_of(rules);
    if (!error) {
        error = error_of((int)syscall(SYS_landlock_restrict_self, rules, 0));
        close(rules);
    }
    set_layer(report, CWI_LAYER_LANDLOCK, error);
    if (!error && version >= 6) set_layer(report, CWI_LAYER_LANDLOCK_SCOPES, 0);
}

// MARK: Check

/// Ends the process if an act is not forbidden: a sandbox that only looks like one must not decode.
static void check(const cwi_sandbox_report *report) {
    bool holds = true;
    if (has_layer(report, CWI_LAYER_SECCOMP)) {
        holds = holds && syscall(SYS_socket, AF_INET, SOCK_STREAM, 0) < 0;
        holds = holds && syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY, 0) < 0;
        char *arguments[] = {NULL};
        holds = holds && syscall(SYS_execve, "/proc/self/exe", arguments, arguments) < 0;
        holds = holds && syscall(SYS_ptrace, 0, 0, NULL, NULL) < 0;
        long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0) _exit(0);
        holds = holds && child < 0;
    }
    if (!holds) _exit(126);
}

/// A user namespace, and a fork, need a process with one thread. One that a library has started may be ending.
static void wait_for_other_threads(void) {
    for (int round = 0; round < 200; round++) {
        DIR *tasks = opendir("/proc/self/task");
        if (!tasks) return;
        int count = 0;
        for (struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
        closedir(tasks);
        if (count <= 1) return;
        struct timespec millisecond = {.tv_nsec = 1000000};
        nanosleep(&millisecond, NULL);
    }
}

/// Swift's runtime has handlers that start a program after a crash. The program that uses this process reports crashes.
static void remove_signal_handlers(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    // The first process of a namespace ignores these otherwise: those of a library that aborts, and of the limit on time.
    signal(SIGABRT, exit_for);
    signal(SIGXCPU, exit_for);
}

cwi_sandbox_report cwi_sandbox_enter(cwi_sandbox_limits limits) {
    cwi_sandbox_report report = {0};
    remove_signal_handlers();
    wait_for_other_threads();
    measure_memory();
    enter_namespaces(&report);
    set_layer(&report, CWI_LAYER_CAPABILITIES, drop_capabilities());
    set_layer(&report, CWI_LAYER_LIMITS, set_limits(limits, has_layer(&report, CWI_LAYER_USER_NAMESPACE)));
    set_layer(&report, CWI_LAYER_NO_NEW_PRIVILEGES, error_of(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)));
    enter_landlock(&report);
    if (has_layer(&report, CWI_LAYER_LANDLOCK)) {
        int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory >= 0) _exit(126);
    }
    // Other processes of the user cannot read its memory.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    set_layer(&report, CWI_LAYER_SECCOMP, cwi_sandbox_filter_calls());
    check(&report);
    return report;
}
