#define _GNU_SOURCE
#include "CWebImageIsolation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/// In the environment, because arguments cannot be read without /proc.
#define LIBRARY "WEBIMAGE_LIBRARY"

static const cwi_decoder_process CWI_NO_PROCESS = {.pid = -1, .pidfd = -1, .channel = -1, .control = -1};

/// Spawns with the child's ends of the channel and of the control, and with `nothing` for standard input, output and error: a decoder has nothing to say
/// there.
static int spawn(const char *path, const char *library, int channel, int control, int nothing, pid_t *pid) {
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
        if (!error) error = posix_spawn_file_actions_adddup2(&actions, control, CWI_CONTROL_DESCRIPTOR);
        if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, CWI_CONTROL_DESCRIPTOR + 1);
        if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
        if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
        // A Ctrl-C in a terminal is for the program.
        if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
        short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
        if (!error) error = posix_spawnattr_setflags(&attributes, flags);
        char *arguments[] = {(char *)"webimage-decoder", (char *)"--serve", NULL};
        char variable[64];
        snprintf(variable, sizeof variable, LIBRARY "=%s", library);
        char *environment[] = {*library ? variable : NULL, NULL};
        if (!error) error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/// Moves a descriptor behind those that the child gets. Takes it over, also on failure.
static int moved(int descriptor) {
    if (descriptor < 0 || descriptor > CWI_CONTROL_DESCRIPTOR) return descriptor;
    int result = fcntl(descriptor, F_DUPFD_CLOEXEC, CWI_CONTROL_DESCRIPTOR + 1), error = errno;
    close(descriptor);
    errno = error;
    return result;
}

/// Connected sockets, the second of which the child gets.
static int connect_ends(int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    ends[1] = moved(ends[1]);
    return ends[1] < 0 ? errno : 0;
}

static void close_open(int descriptor) {
    if (descriptor >= 0) close(descriptor);
}

int cwi_decoder_start(const char *path, const char *library, cwi_decoder_process *process) {
    *process = CWI_NO_PROCESS;
    int channel[2] = {-1, -1}, control[2] = {-1, -1}, nothing = -1;
    int error = connect_ends(channel);
    if (!error) error = connect_ends(control);
    // Memory that nothing can be written to: a root may have no /dev/null.
    if (!error) nothing = moved(memfd_create("webimage-nothing", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!error && nothing < 0) error = errno;
    if (!error && fcntl(nothing, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) error = errno;
    pid_t pid;
    if (!error) error = spawn(path, library, channel[1], control[1], nothing, &pid);
    close_open(channel[1]);
    close_open(control[1]);
    close_open(nothing);
    if (error) {
        close_open(channel[0]);
        close_open(control[0]);
        return error;
    }
    process->pid = pid;
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    process->pidfd_inode = process->pidfd < 0 ? 0 : cwi_inode(process->pidfd);
    process->channel = channel[0];
    process->channel_inode = cwi_inode(channel[0]);
    process->control = control[0];
    process->control_inode = cwi_inode(control[0]);
    process->limits.memory_length = process->limits.processor_seconds = UINT64_MAX;
    return 0;
}

const char *cwi_decoder_library(void) {
    const char *library = getenv(LIBRARY);
    return library ? library : "";
}

bool cwi_decoder_has_channel(const cwi_decoder_process *process) {
    return process->channel >= 0 && cwi_inode(process->channel) == process->channel_inode;
}

void cwi_decoder_forget(cwi_decoder_process *process) {
    cwi_close_same(process->channel, process->channel_inode);
    cwi_close_same(process->control, process->control_inode);
    cwi_close_same(process->pidfd, process->pidfd_inode);
    *process = CWI_NO_PROCESS;
}

/// Sends what the process was told last. Waits for at most `milliseconds` until it holds, or not at all for 0.
static bool control(cwi_decoder_process *process, int milliseconds) {
    if (process->control < 0 || cwi_inode(process->control) != process->control_inode) return false;
    process->limits.wants_reply = milliseconds > 0;
    if (send(process->control, &process->limits, sizeof process->limits, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return false;
    if (milliseconds == 0) return true;
    struct pollfd waiting = {.fd = process->control, .events = POLLIN};
    int ready;
    do {
        ready = poll(&waiting, 1, milliseconds);
    } while (ready < 0 && errno == EINTR);
    char done;
    return ready == 1 && recv(process->control, &done, 1, MSG_DONTWAIT) == 1;
}

bool cwi_decoder_limit(cwi_decoder_process *process, uint64_t memory_length, uint64_t processor_seconds, int milliseconds) {
    cwi_control_message *last = &process->limits;
    bool is_same = last->memory_length == memory_length;
    // Processor time counts from each image on.
    if (is_same && processor_seconds == UINT64_MAX && last->processor_seconds == UINT64_MAX) return true;
    last->memory_length = memory_length;
    last->processor_seconds = processor_seconds;
    // More time may be granted a moment later: more than that is left of the old.
    return control(process, is_same ? 0 : milliseconds);
}

void cwi_decoder_lower_priority(cwi_decoder_process *process) {
    process->limits.lowers_priority = true;
    control(process, 0);
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
    // Without its channel a decoder ends by itself. Without the control its supervisor ends it, and then does not say how it has ended.
    cwi_close_same(process->channel, process->channel_inode);
    bool has_descriptor = process->pidfd >= 0 && cwi_inode(process->pidfd) == process->pidfd_inode;
    struct pollfd ending = {.fd = process->pidfd, .events = POLLIN};
    bool has_ended = has_descriptor && poll(&ending, 1, milliseconds) == 1;
    cwi_close_same(process->control, process->control_inode);
    process->channel = process->control = -1;
    if (!has_ended && (!has_descriptor || syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0) != 0))
        kill_child(process->pid);
    int status;
    pid_t waited;
    do {
        waited = waitpid(process->pid, &status, 0);
    } while (waited < 0 && errno == EINTR);
    if (waited == process->pid) {
        // One that was killed says nothing about itself.
        result.is_known = has_ended;
        if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
        if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    }
    cwi_decoder_forget(process);
    return result;
}
