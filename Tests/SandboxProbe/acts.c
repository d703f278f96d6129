#define _GNU_SOURCE
#include "CWebImageSandbox.h"
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// A file that the process may read, as it may read fonts.
#define OFFER "/etc/group"

/// A file that can be written, as a descriptor that the program gave.
static int file = -1;
/// A pair of sockets, of which signals could be had.
static int pair[2] = {-1, -1};

void prepare_acts(void) {
    file = memfd_create("probe", MFD_ALLOW_SEALING);
    if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) _exit(3);
    cwi_sandbox_offer(OFFER);
}

static void act(const char *name, long result) {
    int error = errno;
    say("%s %d\n", name, result < 0 ? error : 0);
    errno = 0;
}

static long opened(const char *path, int flags) {
    int descriptor = open(path, flags, 0600);
    if (descriptor >= 0) close(descriptor);
    return descriptor;
}

/// Whether a directory has entries.
static long listed(const char *path) {
    DIR *directory = opendir(path);
    if (!directory) return -1;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    errno = ENOENT;
    return count > 0 ? 0 : -1;
}

static long connected_inet(int port) {
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor < 0) return -1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int result = connect(descriptor, (struct sockaddr *)&address, sizeof address), error = errno;
    close(descriptor);
    errno = error;
    return result;
}

static long connected_abstract(const char *name) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor < 0) return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int result = connect(descriptor, (struct sockaddr *)&address, length), error = errno;
    close(descriptor);
    errno = error;
    return result;
}

/// Whether a child was started, by flags of clone.
static long cloned(unsigned long flags) {
    long child = syscall(SYS_clone, flags, 0, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    int error = errno;
    if (child > 0) waitpid((pid_t)child, NULL, __WALL);
    errno = error;
    return child;
}

static int end_thread(void *unused) {
    (void)unused;
    return 0;
}

/// Starts a thread with other flags than those of the C library.
static long cloned_thread(void) {
    static char stack[64 << 10] __attribute__((aligned(16)));
    return clone(end_thread, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL);
}

static long executed(void) {
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        execl("/bin/true", "true", NULL);
        _exit(errno);
    }
    int status;
    if (waitpid(child, &status, 0) != child) return -1;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    return errno ? -1 : 0;
}

static long mapped(int protection, int flags, int descriptor) {
    void *memory = mmap(NULL, 4096, protection, flags, descriptor, 0);
    if (memory == MAP_FAILED) return -1;
    munmap(memory, 4096);
    return 0;
}

static long made_executable(void) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? 0 : mprotect(memory, 4096, PROT_READ | PROT_EXEC);
}

static long raised(__rlimit_resource_t resource) {
    struct rlimit limits;
    if (getrlimit(resource, &limits) != 0) return -1;
    limits.rlim_cur = limits.rlim_max = limits.rlim_max + 1;
    return setrlimit(resource, &limits);
}

/// Whether the soft limit can be changed below the hard one.
static long changed(__rlimit_resource_t resource) {
    struct rlimit limits;
    if (getrlimit(resource, &limits) != 0) return -1;
    limits.rlim_cur = limits.rlim_max;
    return syscall(SYS_prlimit64, 0, resource, &limits, NULL, 0, 0);
}

static long written(void) {
    signal(SIGXFSZ, SIG_IGN);
    return pwrite(file, "x", 1, 100);
}

static long copied_descriptors(void) {
    int count = 0;
    while (count < 200 && dup(0) >= 0) count++;
    int error = errno;
    for (int descriptor = 1023; descriptor > 8 && count > 0; descriptor--) count -= close(descriptor) == 0;
    errno = error;
    return error == EMFILE ? -1 : 0;
}

void try_acts(const char *arguments) {
    int program = 0, port = 0, key = 0;
    char name[64] = "", path[256] = "";
    if (sscanf(arguments, "%d %d %d %63s %255s", &program, &port, &key, name, path) != 5) _exit(3);
    errno = 0;
    act("open", opened("/etc/passwd", O_RDONLY));
    act("openOwnMemory", opened("/proc/self/mem", O_RDWR));
    act("create", opened(path, O_WRONLY | O_CREAT));
    act("writeOffer", opened(OFFER, O_RDWR));
    act("mayWriteOffer", access(OFFER, W_OK));
    act("list", listed("/"));
    act("execute", executed());
    act("connect", connected_inet(port));
    act("connectAbstract", connected_abstract(name));
    act("signal", kill(program, 0));
    act("signalThread", syscall(SYS_tgkill, program, program, 0, 0, 0, 0));
    act("descriptorOfProcess", syscall(SYS_pidfd_open, program, 0, 0, 0, 0, 0));
    act("limitsOfProcess", syscall(SYS_prlimit64, program, RLIMIT_NOFILE, NULL, &(struct rlimit){0}, 0, 0));
    act("sharedMemory", shmget(key, 0, 0));
    act("chroot", chroot("/"));
    // Whether other processes of the user can read its memory.
    act("dump", prctl(PR_GET_DUMPABLE) == 1 ? 0 : (errno = EPERM, -1));
    act("setUser", setuid(1));
    act("hostName", sethostname("probe", 5));
    act("write", written());
    act("descriptors", copied_descriptors());
    act("raiseMemory", raised(RLIMIT_DATA));
    act("raiseFileSize", raised(RLIMIT_FSIZE));
    act("raiseDescriptors", raised(RLIMIT_NOFILE));
    act("changeMemory", changed(RLIMIT_DATA));
    // The C library uses the newer call.
    act("changeMemoryByOldCall", syscall(SYS_setrlimit, RLIMIT_DATA, &(struct rlimit){0}, 0, 0, 0, 0));
    act("changeAddressSpace", changed(RLIMIT_AS));
    act("changeTime", changed(RLIMIT_CPU));
    act("changeThreads", changed(RLIMIT_NPROC));
    act("mapExecutable", mapped(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1));
    act("makeExecutable", made_executable());
    act("mapShared", mapped(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1));
    act("mapGrowing", mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1));
    act("fork", cloned(SIGCHLD));
    act("cloneUser", cloned(CLONE_NEWUSER | SIGCHLD));
    act("cloneThreadOfOtherKind", cloned_thread());
    act("clone3", syscall(SYS_clone3, NULL, 0, 0, 0, 0, 0) < 0 && (errno == EINVAL || errno == EFAULT) ? 0 : -1);
    act("unshare", unshare(CLONE_NEWUSER));
    // Signals without a call that sends them.
    act("setOwner", fcntl(pair[0], F_SETOWN, getpid()));
    struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = getpid()};
    act("setOwnerOfKind", fcntl(pair[0], F_SETOWN_EX, &owner));
    act("setSignal", fcntl(pair[0], F_SETSIG, SIGKILL));
    act("signalOnInput", fcntl(pair[0], F_SETFL, O_ASYNC));
    act("changeFlags", fcntl(pair[0], F_SETFL, O_NONBLOCK));
    act("notify", fcntl(file, F_NOTIFY, DN_MODIFY) < 0 && errno == ENOTDIR ? 0 : errno == 0 ? 0 : -1);
    act("lease", fcntl(file, F_SETLEASE, F_UNLCK) < 0 && errno == EAGAIN ? 0 : -1);
    act("lock", fcntl(file, F_OFD_SETLK, &(struct flock){.l_type = F_RDLCK}));
    act("seal", fcntl(file, F_ADD_SEALS, F_SEAL_GROW));
    act("wideCommand", syscall(SYS_fcntl, (long)pair[0], (1L << 32) | F_SETOWN, (long)getpid(), 0, 0, 0));
    int value = 1, process = getpid();
    act("ioctlAsync", ioctl(pair[0], FIOASYNC, &value));
    act("ioctlOwner", ioctl(pair[0], FIOSETOWN, &process));
    act("ioctlGroup", ioctl(pair[0], SIOCSPGRP, &process));
    act("ioctlInput", ioctl(0, TIOCSTI, "x") < 0 && errno == ENOTTY ? 0 : -1);
    // What decoders need.
    act("readOffer", opened(OFFER, O_RDONLY));
    act("mayReadOffer", access(OFFER, R_OK));
    act("readFlags", fcntl(pair[0], F_GETFL));
    act("readSeals", fcntl(file, F_GET_SEALS));
    act("copyDescriptor", close(fcntl(pair[0], F_DUPFD_CLOEXEC, 0)));
    act("closeOnExecute", fcntl(pair[0], F_SETFD, FD_CLOEXEC));
    act("mapFile", mapped(PROT_READ, MAP_SHARED, file));
    act("readLimits", getrlimit(RLIMIT_NOFILE, &(struct rlimit){0}));
    act("wait", nanosleep(&(struct timespec){0}, NULL));
}
