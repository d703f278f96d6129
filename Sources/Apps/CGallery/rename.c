#define _GNU_SOURCE
#include "CGallery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int gallery_rename_to_unused_name(const char *file, const char *place) {
    return renameat2(AT_FDCWD, file, AT_FDCWD, place, RENAME_NOREPLACE) == 0 ? 0 : errno;
}
