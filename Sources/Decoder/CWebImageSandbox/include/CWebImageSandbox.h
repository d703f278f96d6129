// The sandbox that a decoder process puts itself into before it reads the first byte of an image.
//
//     cwi_sandbox_enter ─▶ user ─▶ namespaces ─▶ supervisor ─▶ empty root ─▶ capabilities ─▶ limits ─▶ Landlock ─▶ seccomp ─▶ check
//
// A layer that the kernel refuses is reported and left out: the others hold without it. Call it while the process has one thread.

#ifndef CWEBIMAGE_SANDBOX_H
#define CWEBIMAGE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The layers, in the order in which they are set up. `SandboxLayer` in Swift has the same numbers.
typedef enum {
    CWI_LAYER_USER_NAMESPACE,
    CWI_LAYER_NETWORK_NAMESPACE,
    CWI_LAYER_IPC_NAMESPACE,
    CWI_LAYER_PID_NAMESPACE,
    CWI_LAYER_MOUNT_NAMESPACE,
    CWI_LAYER_CAPABILITIES,
    CWI_LAYER_LIMITS,
    CWI_LAYER_THREAD_LIMIT,
    CWI_LAYER_NO_NEW_PRIVILEGES,
    CWI_LAYER_LANDLOCK,
    CWI_LAYER_LANDLOCK_SCOPES,
    CWI_LAYER_SECCOMP,
    CWI_LAYER_COUNT,
} cwi_layer;

typedef struct {
    /// A bit for each layer that holds.
    uint32_t active;
    /// Why the others do not: an error number.
    int32_t errors[CWI_LAYER_COUNT];
    /// The version of Landlock, or 0.
    int32_t landlock_version;
} cwi_sandbox_report;

typedef struct {
    /// The maximum memory for decoding, besides what the process has before it starts.
    size_t memory_length;
    /// The maximum processor time of the process.
    uint64_t processor_seconds;
    /// The maximum number of threads at once.
    uint32_t thread_count;
} cwi_sandbox_limits;

/// Opens a file that a library opens by its name later, such as a font: reading it stays possible. Call it before the sandbox is entered. Too
/// many files, and those that cannot be opened, are left out.
void cwi_sandbox_offer(const char *path);

/// Enters the sandbox. The caller goes on as a child of itself. The process outside ends as the child does; the child ends with it. It
/// does what `cwi_control_message` of CWebImageIsolation says, and ends both processes when the program has ended.
///
/// Ends the process if a layer is said to hold and a forbidden act succeeds nevertheless.
cwi_sandbox_report cwi_sandbox_enter(cwi_sandbox_limits limits);

/// Keeps freed memory for the next image: new pages cost more than decoding a small one. Call it before other threads start.
void cwi_sandbox_keep_memory(void);

/// Gives freed memory back to the system.
void cwi_sandbox_release_memory(void);

#endif
