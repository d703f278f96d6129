#define _GNU_SOURCE
#include "layers.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// MARK: Files that libraries open by their names

enum {
    MAXIMUM_OFFER_COUNT = 400,
    /// For messages, and for the libraries.
    SPARE_DESCRIPTOR_COUNT = 32,
};

static struct {
    char *path;
    int descriptor;
} offers[MAXIMUM_OFFER_COUNT];
static size_t offer_count;

void cwi_sandbox_offer(const char *path) {
    if (offer_count == MAXIMUM_OFFER_COUNT) return;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return;
    struct rlimit limit;
    bool leaves_some = getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)descriptor + SPARE_DESCRIPTOR_COUNT < limit.rlim_cur;
    char *copy = leaves_some ? strdup(path) : NULL;
    if (!copy) {
        close(descriptor);
        return;
    }
    offers[offer_count].path = copy;
    offers[offer_count++].descriptor = descriptor;
}

/// The descriptor of an offered file, or -1.
static int find_offer(const char *path) {
    for (size_t index = 0; index < offer_count; index++) {
        if (strcmp(offers[index].path, path) == 0) return offers[index].descriptor;
    }
    return -1;
}

static long result_of(long result) { return result < 0 ? -errno : result; }

/// A new descriptor of an offered file, for reading from its beginning, or a negative error number. It shares its position with the others:
/// fonts are mapped, not read.
static long open_offer(const char *path, long flags) {
    int descriptor = (flags & O_ACCMODE) == O_RDONLY ? find_offer(path) : -1;
    if (descriptor < 0) return -EACCES;
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0) lseek(copy, 0, SEEK_SET);
    return result_of(copy);
}

static long access_offer(const char *path, long mode) {
    return !(mode & (W_OK | X_OK)) && find_offer(path) >= 0 ? 0 : -EACCES;
}

static long stat_offer(const char *path, long status) {
    int descriptor = find_offer(path);
    return descriptor < 0 ? -EACCES : result_of(syscall(SYS_fstat, descriptor, status));
}

/// Does what is left of calls that name files: with those that were offered, and with open ones.
static long answer(int call, const long arguments[4]) {
    switch (call) {
#ifdef SYS_open
    case SYS_open: return open_offer((const char *)arguments[0], arguments[1]);
    case SYS_access: return access_offer((const char *)arguments[0], arguments[1]);
    case SYS_stat: return stat_offer((const char *)arguments[0], arguments[1]);
#endif
    case SYS_openat: return open_offer((const char *)arguments[1], arguments[2]);
    case SYS_faccessat:
    case SYS_faccessat2: return access_offer((const char *)arguments[1], arguments[2]);
    case SYS_newfstatat: {
        const char *path = (const char *)arguments[1];
        if (path && *path) return stat_offer(path, arguments[2]);
        // How the C library asks for the status of an open file.
        return arguments[3] & AT_EMPTY_PATH ? result_of(syscall(SYS_fstat, arguments[0], arguments[2])) : -EACCES;
    }
    default: return -EACCES;
    }
}

static void handle(int signal, siginfo_t *info, void *pointer) {
    (void)signal;
    int error = errno;
    ucontext_t *context = pointer;
#if defined(__x86_64__)
    greg_t *registers = context->uc_mcontext.gregs;
    long arguments[4] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10]};
    registers[REG_RAX] = answer(info->si_syscall, arguments);
#elif defined(__aarch64__)
    unsigned long long *registers = context->uc_mcontext.regs;
    long arguments[4] = {(long)registers[0], (long)registers[1], (long)registers[2], (long)registers[3]};
    registers[0] = (unsigned long long)answer(info->si_syscall, arguments);
#else
#error "the registers of a system call on this processor are not known"
#endif
    errno = error;
}

// MARK: The filter

// What decoders need: memory, threads, time, their open descriptors. All others return ENOSYS, as calls do that a kernel does not have: new versions
// of libraries try new calls, and go on without.
static const char *const allowed[] = {
    "brk", "clock_getres", "clock_gettime", "clock_nanosleep", "close", "dup", "eventfd2", "exit", "exit_group", "fstat", "futex",
    "futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "getcpu", "getegid", "geteuid", "getgid", "getpid", "getppid",
    "getrandom", "getrlimit", "getrusage", "gettid", "gettimeofday", "getuid", "lseek", "madvise", "membarrier", "mremap", "munmap",
    "nanosleep", "poll", "ppoll", "pread64", "read", "readv", "recvmsg", "restart_syscall", "rseq", "rt_sigaction", "rt_sigprocmask",
    "rt_sigreturn", "sched_getaffinity", "sched_yield", "sendmsg", "set_robust_list", "set_tid_address", "sigaltstack",
    "sysinfo", "time", "times", "uname", "write", "writev",
};

// Calls that name files. Their signal is handled above.
static const char *const trapped[] = {
    "access", "faccessat", "faccessat2", "lstat", "newfstatat", "open", "openat", "readlink", "readlinkat", "stat",
};

// What an exploit would want. They get the error of a lack of rights, which libraries report.
static const char *const refused[] = {
    "accept", "accept4", "add_key", "bind", "bpf", "chroot", "connect", "delete_module", "execve", "execveat", "finit_module", "fork",
    "fsopen", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "kcmp", "kexec_file_load", "kexec_load", "keyctl",
    "kill", "listen", "memfd_create", "memfd_secret", "mount", "move_mount", "open_by_handle_at", "open_tree", "openat2", "perf_event_open",
    "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pivot_root", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace",
    "request_key", "setns", "setsid", "socket", "socketpair", "tkill", "umount2", "unshare", "userfaultfd", "vfork",
};

static int add_all(scmp_filter_ctx filter, uint32_t action, const char *const *names, size_t count) {
    for (size_t index = 0; index < count; index++) {
        int call = seccomp_syscall_resolve_name(names[index]);
        // Of another processor, or newer than libseccomp.
        if (call == __NR_SCMP_ERROR) continue;
        int result = seccomp_rule_add(filter, action, call, 0);
        if (result < 0 && result != -EDOM) return result;
    }
    return 0;
}

// Files that the program uses, too, have flags, owners and signals of their own: those stay as they are.
static const int allowed_file_commands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_GET_SEALS};

/// What the C library starts a thread with. Other flags would start a process, or enter a namespace.
static const scmp_datum_t thread_flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD |
                                         CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

/// Calls that are allowed with some arguments.
static int add_conditions(scmp_filter_ctx filter) {
    uint32_t denied = SCMP_ACT_ERRNO(EPERM);
    int result = 0;
    // Memory that was written cannot be executed. The limit on the process's own memory counts neither stacks that grow nor shared memory, so
    // that there is none of these but the program's.
    struct scmp_arg_cmp not_executed = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), executed = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC);
    struct scmp_arg_cmp of_file = SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS | MAP_GROWSDOWN, 0);
    struct scmp_arg_cmp not_shared = SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED | MAP_GROWSDOWN, 0);
    if (!result) result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, not_executed, of_file);
    if (!result) result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, not_executed, not_shared);
    if (!result) result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_executed);
    if (!result) result = seccomp_rule_add(filter, denied, SCMP_SYS(mmap), 1, executed);
    if (!result) result = seccomp_rule_add(filter, denied, SCMP_SYS(mprotect), 1, executed);
    // clone3 hides its arguments in memory; without it the C library takes clone.
    if (!result) result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_EQ, thread_flags));
    if (!result) result = seccomp_rule_add(filter, denied, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_NE, thread_flags));
    for (size_t index = 0; index < sizeof allowed_file_commands / sizeof *allowed_file_commands && !result; index++) {
        scmp_datum_t command = (scmp_datum_t)allowed_file_commands[index];
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, command));
    }
    // Its own limits can be read.
    if (!result)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
    // Its own signals.
    if (!result)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    // Names of threads and of memory.
    if (!result) result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
    return result;
}

int cwi_filter_calls(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSYS, &action, NULL) != 0) return errno;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (!filter) return ENOMEM;
    // There is one thread. Should a library have started another, it gets the filter, too.
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    int result = add_all(filter, SCMP_ACT_ALLOW, allowed, sizeof allowed / sizeof *allowed);
    if (!result) result = add_all(filter, SCMP_ACT_TRAP, trapped, sizeof trapped / sizeof *trapped);
    if (!result) result = add_all(filter, SCMP_ACT_ERRNO(EPERM), refused, sizeof refused / sizeof *refused);
    if (!result) result = add_conditions(filter);
    if (!result) result = seccomp_load(filter);
    seccomp_release(filter);
    return -result;
}
