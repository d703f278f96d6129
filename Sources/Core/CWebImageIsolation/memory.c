#define _GNU_SOURCE
#include "CWebImageIsolation.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

// A process that has the memory cannot add a seal against writing, which would take it away from the others.
enum { FIXED = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, CONSTANT = FIXED | F_SEAL_WRITE };

/// Creates memory with a length, and `seals`.
static int create(size_t length) {
    // Beyond this limit the kernel would end the program with SIGXFSZ.
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && length > limit.rlim_cur) {
        errno = EFBIG;
        return -1;
    }
    int descriptor = memfd_create("webimage", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    if (ftruncate(descriptor, (off_t)length) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

static int sealed(int descriptor, int seals) {
    if (fcntl(descriptor, F_ADD_SEALS, seals) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int cwi_memory_create(size_t length) {
    int descriptor = create(length);
    return descriptor < 0 ? -1 : sealed(descriptor, FIXED);
}

int cwi_memory_write(int descriptor, const void *bytes, size_t length) {
    for (size_t offset = 0; offset < length;) {
        ssize_t count = pwrite(descriptor, (const char *)bytes + offset, length - offset, (off_t)offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 ? errno : EIO;
        offset += (size_t)count;
    }
    return 0;
}

int cwi_memory_read(int descriptor, size_t offset, void *bytes, size_t length) {
    for (size_t position = 0; position < length;) {
        ssize_t count = pread(descriptor, (char *)bytes + position, length - position, (off_t)(offset + position));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 ? errno : EIO;
        position += (size_t)count;
    }
    return 0;
}

int cwi_memory_create_constant(const void *bytes, size_t length) {
    int descriptor = create(length);
    if (descriptor < 0) return -1;
    int error = cwi_memory_write(descriptor, bytes, length);
    if (!error) return sealed(descriptor, CONSTANT);
    close(descriptor);
    errno = error;
    return -1;
}

void cwi_memory_clear(int descriptor, size_t offset, size_t length) {
    if (length > 0) fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)length);
}

uint64_t cwi_inode(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

void cwi_close_same(int descriptor, uint64_t inode) {
    if (descriptor >= 0 && cwi_inode(descriptor) == inode) close(descriptor);
}

/// The length of memory that has these seals.
static int64_t length_with(int descriptor, int seals) {
    int found = fcntl(descriptor, F_GET_SEALS);
    struct stat status;
    if (found < 0 || (found & seals) != seals || fstat(descriptor, &status) != 0) return -1;
    return (int64_t)status.st_size;
}

int64_t cwi_memory_length(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? (int64_t)status.st_size : -1;
}

int64_t cwi_memory_fixed_length(int descriptor) { return length_with(descriptor, FIXED); }

void *cwi_memory_map(int descriptor, size_t offset, size_t length, cwi_access access) {
    int protection = access == CWI_ACCESS_READ ? PROT_READ : PROT_READ | PROT_WRITE;
    int flags = access == CWI_ACCESS_COPY ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
    void *address = mmap(NULL, length, protection, flags, descriptor, (off_t)offset);
    return address == MAP_FAILED ? NULL : address;
}

void cwi_memory_unmap(void *address, size_t length) { munmap(address, length); }

void cwi_memory_discard(void *address, size_t length) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = ((uintptr_t)address + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)address + length) / page * page;
    if (start < end) madvise((void *)start, end - start, MADV_REMOVE);
}
