#define _GNU_SOURCE
#include "CWebImageSystem.h"

#include <libintl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

void cwi_set_thread_name(const char *name) {
    char shortened[16] = {0};
    strncpy(shortened, name, sizeof shortened - 1);
    pthread_setname_np(pthread_self(), shortened);
}

int cwi_thread_id(void) { return (int)syscall(SYS_gettid); }

bool cwi_is_first_thread(void) {
    static _Thread_local char known; // 0: unknown, 1: no, 2: yes
    if (known == 0) known = cwi_thread_id() == getpid() ? 2 : 1;
    return known == 2;
}

const char *cwi_error_description(int error) {
    return strerrordesc_np(error);
}

int cwi_open_unnamed_file(const char *directory) {
    int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    // Not every file system has files without names; old kernels take the flag for O_DIRECTORY.
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return descriptor;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/webimage-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0)
        unlink(path);
    return descriptor;
}

int cwi_is_in_memory(int descriptor) {
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0)
        return -1;
    // TMPFS_MAGIC and RAMFS_MAGIC (statfs(2)).
    unsigned type = (unsigned)status.f_type;
    return type == 0x01021994u || type == 0x858458F6u;
}

void cwi_use_language_of_environment(void) {
    setlocale(LC_CTYPE, "");
    setlocale(LC_MESSAGES, "");
}

char *cwi_folder_beside_program(const char *relative) {
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return NULL;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    char *path = NULL;
    if (asprintf(&path, "%s/%s", program, relative) < 0)
        return NULL;
    // Without links and "..".
    char *folder = realpath(path, NULL);
    free(path);
    return folder;
}

void cwi_bind_translations(const char *domain, const char *folder) {
    if (folder != NULL) bindtextdomain(domain, folder);
    bind_textdomain_codeset(domain, "UTF-8");
}

const char *cwi_translation(const char *domain, const char *text) { return dgettext(domain, text); }

const char *cwi_plural_translation(const char *domain, const char *one, const char *other, unsigned long count) {
    return dngettext(domain, one, other, count);
}
