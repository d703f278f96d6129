#define _GNU_SOURCE
#include "CWebImageIsolation.h"
#include "layers.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// The process that stays outside. It has read no image, and does what a process that was taken over must not do to itself:
//
//     program ══ control ══ this process ──▶ limits, priority, end ──▶ the process that decodes
//
// The program may start processes from threads that end before it does, so that PR_SET_PDEATHSIG does not tell when the program has
// ended. The control socket does.

static _Noreturn void end_like(int status) {
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - SIGNAL_STATUS;
    if (number <= 0 || number >= NSIG) _exit(WEXITSTATUS(status));
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(number);
    _exit(SIGNAL_STATUS + number);
}

static void wake(int number) { (void)number; }

/// A thread of the lowest nice value still ends its slice, some milliseconds, before one that wakes. An idle one yields at once.
static void lower_priority(pid_t child) {
    setpriority(PRIO_PGRP, (id_t)child, 19);
    const struct sched_param none = {0};
    sched_setscheduler(child, SCHED_IDLE, &none);
    // Its other threads, where /proc is.
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)child);
    DIR *threads = opendir(path);
    if (!threads) return;
    for (struct dirent *entry; (entry = readdir(threads));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread > 0) sched_setscheduler(thread, SCHED_IDLE, &none);
    }
    closedir(threads);
}

/// Does what the program says. False if it has ended, or has no more use for the process.
static bool obey(pid_t child) {
    cwi_control_message message;
    ssize_t length = recv(CWI_CONTROL_DESCRIPTOR, &message, sizeof message, MSG_DONTWAIT);
    if (length < 0) return errno == EAGAIN || errno == EINTR;
    if (length != sizeof message) return false;
    if (message.lowers_priority) lower_priority(child);
    cwi_limit_process(child, message.memory_length, message.processor_seconds);
    char done = 1;
    return !message.wants_reply || send(CWI_CONTROL_DESCRIPTOR, &done, 1, MSG_NOSIGNAL) == 1;
}

static _Noreturn void supervise(pid_t child, const sigset_t *mask) {
    cwi_drop_capabilities();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        if (descriptor != CWI_CONTROL_DESCRIPTOR) close(descriptor);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) != child) {
        struct pollfd control = {.fd = CWI_CONTROL_DESCRIPTOR, .events = POLLIN};
        // The end of the child wakes it only here.
        int ready = ppoll(&control, 1, NULL, mask);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 1 && obey(child)) continue;
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        // Its end was wanted, unless it came before.
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) _exit(0);
        break;
    }
    end_like(status);
}

int cwi_continue_supervised(void) {
    sigset_t child_ends, mask;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &child_ends, &mask) != 0) return errno;
    signal(SIGCHLD, wake);
    pid_t child = fork();
    if (child < 0) return errno;
    if (child > 0) supervise(child, &mask);
    close(CWI_CONTROL_DESCRIPTOR);
    // A priority is that of a thread. That of a group is that of all threads.
    setpgid(0, 0);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    // Of the only thread of the process outside.
    return error_of(prctl(PR_SET_PDEATHSIG, SIGKILL));
}
