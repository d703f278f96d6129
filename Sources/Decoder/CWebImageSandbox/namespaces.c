#define _GNU_SOURCE
#include "layers.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: User

/// The first of the numbers that systemd leaves unused, of which the process takes the one with its own number.
static const uid_t FIRST_UNIQUE_USER = 0x70000000;

bool cwi_become_unique_user(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct found[2] = {{0}};
    uint32_t needed = 1U << CAP_SETUID | 1U << CAP_SETGID;
    if (syscall(SYS_capget, &header, found) != 0 || (found[0].effective & needed) != needed) return false;
    // What is set up next needs the capabilities. They are dropped afterwards.
    if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) != 0 && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return false;
    uid_t user = FIRST_UNIQUE_USER + (uid_t)getpid();
    // The groups first: they cannot be changed by another user.
    if (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0) return false;
    if (setresuid(user, user, user) != 0) return false;
    // Without the first of the two ways above, the capabilities are permitted, and not effective.
    for (int index = 0; index < 2; index++) found[index].effective = found[index].permitted;
    syscall(SYS_capset, &header, found);
    return true;
}

// MARK: Files

/// Makes an empty directory that cannot be written the root.
int cwi_enter_empty_root(void) {
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
    return error;
}

// MARK: Privileges

int cwi_drop_capabilities(void) {
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
