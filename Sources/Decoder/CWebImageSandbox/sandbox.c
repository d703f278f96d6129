#define _GNU_SOURCE
#include "layers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void exit_for(int number) { _exit(SIGNAL_STATUS + number); }

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

/// Where memory runs out, the kernel ends this process, which is an error for one image, and not the program. Not a layer: without /proc, the
/// kernel takes the largest.
static void be_ended_first(void) {
    static const char SCORE[] = "1000";
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t written = write(file, SCORE, sizeof SCORE - 1);
    (void)written;
    close(file);
}

cwi_sandbox_report cwi_sandbox_enter(cwi_sandbox_limits limits) {
    cwi_sandbox_report report = {0};
    be_ended_first();
    remove_signal_handlers();
    wait_for_other_threads();
    cwi_measure_memory();
    bool is_only_process = cwi_become_unique_user();
    // Without a map, the process has no user inside. Outside nothing changes.
    set_layer(&report, CWI_LAYER_USER_NAMESPACE, error_of(unshare(CLONE_NEWUSER)));
    set_layer(&report, CWI_LAYER_NETWORK_NAMESPACE, error_of(unshare(CLONE_NEWNET)));
    set_layer(&report, CWI_LAYER_IPC_NAMESPACE, error_of(unshare(CLONE_NEWIPC)));
    // It holds only children.
    set_layer(&report, CWI_LAYER_PID_NAMESPACE, error_of(unshare(CLONE_NEWPID)));
    if (cwi_continue_supervised() != 0) _exit(125);
    set_layer(&report, CWI_LAYER_MOUNT_NAMESPACE, cwi_enter_empty_root());
    set_layer(&report, CWI_LAYER_CAPABILITIES, cwi_drop_capabilities());
    is_only_process = is_only_process || has_layer(&report, CWI_LAYER_USER_NAMESPACE);
    set_layer(&report, CWI_LAYER_LIMITS, cwi_set_limits(limits));
    set_layer(&report, CWI_LAYER_THREAD_LIMIT, cwi_limit_threads(limits.thread_count, is_only_process));
    set_layer(&report, CWI_LAYER_NO_NEW_PRIVILEGES, error_of(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)));
    cwi_enter_landlock(&report);
    if (has_layer(&report, CWI_LAYER_LANDLOCK)) {
        int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory >= 0) _exit(126);
    }
    // Other processes of the user cannot read its memory.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    set_layer(&report, CWI_LAYER_SECCOMP, cwi_filter_calls());
    check(&report);
    return report;
}
