#define _GNU_SOURCE
#include "probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// What is around the process before it enters its sandbox.

static int landlock_version = -1;

/// Lets an older Landlock answer, for the sandbox and for libraries.
long syscall(long number, ...) {
    static long (*original)(long, ...);
    if (!original) original = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long a[6];
    va_list list;
    va_start(list, number);
    for (int index = 0; index < 6; index++) a[index] = va_arg(list, long);
    va_end(list);
    if (number == SYS_landlock_create_ruleset && landlock_version >= 0) {
        // As many attributes and rights as that version had.
        static const struct { int attributes, rights; } known[] = {
            {0, 0}, {1, 13}, {1, 14}, {1, 15}, {2, 15}, {2, 16}, {3, 16}, {3, 16},
        };
        if (landlock_version == 0) return errno = ENOSYS, -1;
        if (a[2] & LANDLOCK_CREATE_RULESET_VERSION) return landlock_version;
        const uint64_t *attributes = (const uint64_t *)a[0];
        if (a[1] > known[landlock_version].attributes * 8) return errno = E2BIG, -1;
        if (attributes[0] >> known[landlock_version].rights) return errno = EINVAL, -1;
    }
    return original(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

enum { NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWCGROUP };

/// Refuses what a profile does not allow, of what the sandbox and decoders use.
static void refuse(const char *const *names, int error, uint64_t clone_flags) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int result = filter ? 0 : -ENOMEM;
    for (; *names && !result; names++) {
        int call = seccomp_syscall_resolve_name(*names);
        if (call != __NR_SCMP_ERROR) result = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)error), call, 0);
    }
    if (!result) result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    for (int bit = 0; bit < 32 && !result; bit++) {
        uint64_t flag = UINT64_C(1) << bit;
        if (!(clone_flags & flag)) continue;
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
    }
    if (result || seccomp_load(filter) != 0) _exit(3);
    seccomp_release(filter);
}

static void keep_capabilities(uint64_t kept) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) {
        if (!(kept >> capability & 1) && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) _exit(3);
    }
    data[0].effective = data[0].permitted = (uint32_t)kept;
    if (syscall(SYS_capset, &header, data, 0, 0, 0, 0) != 0) _exit(3);
}

static void become(uid_t user) {
    if (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) _exit(3);
}

static bool is(const char *situation, const char *name) { return strcmp(situation, name) == 0; }

void enter_situation(const char *situation) {
    // moby, profiles/seccomp/default.json: without CAP_SYS_ADMIN neither namespaces nor mounts.
    static const char *const docker[] = {"unshare", "setns", "mount", "umount2", "pivot_root", "keyctl", "bpf", NULL};
    // Before 20.10 and 23.0 it did not know Landlock.
    static const char *const old_docker[] = {
        "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "close_range", NULL,
    };
    // flatpak, setup_seccomp in common/flatpak-run.c.
    static const char *const flatpak[] = {
        "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "keyctl", "move_pages", "mbind", NULL,
    };
    // snapd, interfaces/seccomp/template.go: a list of allowed calls.
    static const char *const snap[] = {
        "unshare",   "setns", "mount", "umount2", "pivot_root", "landlock_create_ruleset", "landlock_restrict_self", "pidfd_open",
        "setresuid", NULL,
    };
    static const char *const unshare_only[] = {"unshare", NULL};
    // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW, SYS_CHROOT, MKNOD, AUDIT_WRITE,
    // SETFCAP.
    uint64_t docker_capabilities = 0xA80425FB;
    if (is(situation, "plain")) return;
    if (is(situation, "nobody")) return become(65534);
    if (is(situation, "no-new-namespaces")) return refuse(unshare_only, EPERM, NAMESPACES);
    if (is(situation, "no-user-namespace")) {
        // As with kernel.apparmor_restrict_unprivileged_userns, and max_user_namespaces of 0.
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSPC), SCMP_SYS(unshare), 1,
                           SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)) != 0 || seccomp_load(filter) != 0) _exit(3);
        return;
    }
    if (is(situation, "no-seccomp")) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0) != 0 ||
            seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)) != 0 ||
            seccomp_load(filter) != 0) _exit(3);
        return;
    }
    if (is(situation, "groups")) {
        if (setgroups(2, (gid_t[]){27, 44}) != 0) _exit(3);
        return;
    }
    if (is(situation, "no-capabilities")) return keep_capabilities(0);
    if (is(situation, "no-proc")) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) _exit(3);
        if (umount2("/proc", MNT_DETACH) != 0) _exit(3);
        return;
    }
    if (is(situation, "docker")) {
        refuse(docker, EPERM, NAMESPACES);
        return keep_capabilities(docker_capabilities);
    }
    if (is(situation, "old-docker")) {
        refuse(old_docker, EPERM, 0);
        return;
    }
    if (is(situation, "flatpak")) return refuse(flatpak, EPERM, CLONE_NEWUSER);
    if (is(situation, "snap")) return refuse(snap, EPERM, 0);
    if (strncmp(situation, "landlock-", 9) == 0) {
        landlock_version = atoi(situation + 9);
        return;
    }
    _exit(4);
}
