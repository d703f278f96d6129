#include "CGallery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

// The kernel sets these of its own accord, and allows only the administrator to.
static bool is_of_system(const char *name) {
    return strncmp(name, "security.", 9) == 0 || strncmp(name, "trusted.", 8) == 0;
}

static int copy_attribute(const char *file, int target, const char *name) {
    ssize_t length = getxattr(file, name, NULL, 0);
    if (length < 0) return errno;
    char *value = malloc((size_t)length + 1);
    if (!value) return ENOMEM;
    length = getxattr(file, name, value, (size_t)length);
    int failure = length < 0 || fsetxattr(target, name, value, (size_t)length, 0) != 0 ? errno : 0;
    free(value);
    return failure;
}

int gallery_copy_attributes(const char *file, int target) {
    ssize_t length = listxattr(file, NULL, 0);
    if (length <= 0) return length == 0 || errno == ENOTSUP ? 0 : errno;
    char *names = malloc((size_t)length);
    if (!names) return ENOMEM;
    length = listxattr(file, names, (size_t)length);
    int failure = length < 0 ? errno : 0;
    for (ssize_t offset = 0; failure == 0 && offset < length; offset += (ssize_t)strlen(names + offset) + 1) {
        failure = copy_attribute(file, target, names + offset);
        if (is_of_system(names + offset)) failure = 0;
    }
    free(names);
    return failure;
}

void gallery_remove_access_list(int file) { (void)fremovexattr(file, "system.posix_acl_access"); }
