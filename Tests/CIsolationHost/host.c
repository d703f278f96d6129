#define _GNU_SOURCE
#include "CIsolationHost.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

int host_refuse_namespaces(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : errno;
}

int host_allow_only_reading(void) {
    struct landlock_ruleset_attr attributes = {.handled_access_fs = (1ULL << 13) - 1};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0);
    if (rules < 0) return errno;
    struct landlock_path_beneath_attr reading = {
        .allowed_access = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
        .parent_fd = open("/", O_PATH | O_CLOEXEC),
    };
    if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &reading, 0) != 0) return errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    return syscall(SYS_landlock_restrict_self, rules, 0) == 0 ? 0 : errno;
}

/// Calls a function in a child.
static bool is_possible(bool (*act)(void)) {
    pid_t child = fork();
    if (child == 0) _exit(act() ? 0 : 1);
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool make_user_namespace(void) { return unshare(CLONE_NEWUSER) == 0; }

static bool make_root_private(void) { return unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0; }

bool host_has_user_namespaces(void) { return is_possible(make_user_namespace); }

bool host_root_is_mount(void) { return is_possible(make_root_private); }

int host_open_process(int pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int host_send_descriptors(int socket, int descriptor, int count) {
    enum { MAXIMUM = 64 };
    if (count > MAXIMUM) return EINVAL;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * MAXIMUM)] = {0};
    char byte = 1;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    size_t length = sizeof(int) * (size_t)count;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(length)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(length);
    for (int index = 0; index < count; index++)
        memcpy(CMSG_DATA(header) + (size_t)index * sizeof(int), &descriptor, sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

int host_create_memory(void) { return memfd_create("host", MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int host_seals(int descriptor) { return fcntl(descriptor, F_GET_SEALS); }

int host_seal(int descriptor, int seals) { return fcntl(descriptor, F_ADD_SEALS, seals) == 0 ? 0 : errno; }
