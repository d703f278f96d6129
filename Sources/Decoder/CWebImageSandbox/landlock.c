#define _GNU_SOURCE
#include "layers.h"

#include <linux/landlock.h>
#include <stddef.h>
#include <sys/syscall.h>
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

/// A set of rules without a rule: nothing of what it handles is allowed.
typedef struct {
    uint64_t handled_access_fs, handled_access_net, scoped;
} landlock_attributes;

void cwi_enter_landlock(cwi_sandbox_report *report) {
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
