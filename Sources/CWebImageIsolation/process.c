#define _GNU_SOURCE
#include "CWebImageIsolation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const cwi_decoder_process CWI_NO_PROCESS = {.pid = -1, .pidfd = -1, .channel = -1};

/// Spawns with the child's end of the channel, and with `nothing` for standard input, output and error: a decoder has nothing to say
/// there.
static int spawn(const char *path, int channel, int nothing, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        for (int descriptor = 0; descriptor < CWI_CHANNEL_DESCRIPTOR && !error; descriptor++) {
            error = posix_spawn_file_actions_adddup2(&actions, nothing, descriptor);
        }
        if (!error) error = posix_spawn_file_actions_adddup2(&actions, channel, CWI_CHANNEL_DESCRIPTOR);
        if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, CWI_CHANNEL_DESCRIPTOR + 1);
        if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
        if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
        // A Ctrl-C in a terminal is for the program.
        if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
        short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
        if (!error) error = posix_spawnattr_setflags(&attributes, flags);
        char *arguments[] = {(char *)"webimage-decoder", (char *)"--serve", NULL}, *environment[] = {NULL};
        if (!error) error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/// Moves a descriptor behind those that the child gets. Takes it over, also on failure.
static int moved(int descriptor) {
    if (descriptor < 0 || descriptor > CWI_CHANNEL_DESCRIPTOR) return descriptor;
    int result = fcntl(descriptor, F_DUPFD_CLOEXEC, CWI_CHANNEL_DESCRIPTOR + 1), error = errno;
    close(descriptor);
    errno = error;
    return result;
}

int cwi_decoder_start(const char *path, cwi_decoder_process *process) {
    *process = CWI_NO_PROCESS;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    // Memory that nothing can be written to: a root may have no /dev/null.
    int nothing = moved(memfd_create("webimage-nothing", MFD_CLOEXEC | MFD_ALLOW_SEALING)), error = nothing < 0 ? errno : 0;
    ends[1] = moved(ends[1]);
    if (!error && ends[1] < 0) error = errno;
    pid_t pid;
    if (!error && fcntl(nothing, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE) != 0) error = errno;
    if (!error) error = spawn(path, ends[1], nothing, &pid);
    if (ends[1] >= 0) close(ends[1]);
    if (nothing >= 0) close(nothing);
    if (error) {
        close(ends[0]);
        return error;
    }
    process->pid = pid;
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    process->pidfd_inode = process->pidfd < 0 ? 0 : cwi_inode(process->pidfd);
    process->channel = ends[0];
    process->channel_inode = cwi_inode(ends[0]);
    return 0;
}

bool cwi_decoder_has_channel(const cwi_decoder_process *process) {
    return process->channel >= 0 && cwi_inode(process->channel) == process->channel_inode;
}

void cwi_decoder_forget(cwi_decoder_process *process) {
    cwi_close_same(process->channel, process->channel_inode);
    cwi_close_same(process->pidfd, process->pidfd_inode);
    *process = CWI_NO_PROCESS;
}

void cwi_decoder_lower_priority(const cwi_decoder_process *process) {
    // Its number is that of its group, too, for as long as it runs.
    struct pollfd ending = {.fd = process->pidfd, .events = POLLIN};
    bool is_running =
        process->pid > 0 && process->pidfd >= 0 && cwi_inode(process->pidfd) == process->pidfd_inode && poll(&ending, 1, 0) == 0;
    if (is_running) setpriority(PRIO_PGRP, (id_t)process->pid, 19);
}

/// Ends a child by its number. It keeps the number until it is waited for; of a program that ignores SIGCHLD it is not known whose
/// number that is.
static void kill_child(pid_t pid) {
    siginfo_t state = {0};
    if (waitid(P_PID, (id_t)pid, &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid == 0) kill(pid, SIGKILL);
}

cwi_exit cwi_decoder_end(cwi_decoder_process *process, int milliseconds) {
    cwi_exit result = {.is_known = false};
    if (process->pid <= 0) return result;
    // Without its channel a decoder ends by itself.
    cwi_close_same(process->channel, process->channel_inode);
    process->channel = -1;
    bool has_descriptor = process->pidfd >= 0 && cwi_inode(process->pidfd) == process->pidfd_inode;
    struct pollfd ending = {.fd = process->pidfd, .events = POLLIN};
    bool has_ended = has_descriptor && poll(&ending, 1, milliseconds) == 1;
    if (!has_ended && (!has_descriptor || syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0) != 0))
        kill_child(process->pid);
    int status;
    pid_t waited;
    do {
        waited = waitpid(process->pid, &status, 0);
    } while (waited < 0 && errno == EINTR);
    if (waited == process->pid) {
        result.is_known = true;
        if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
        if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    }
    cwi_decoder_forget(process);
    return result;
}
