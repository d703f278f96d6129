// What the files of this target share.

#ifndef CWEBIMAGE_SANDBOX_LAYERS_H
#define CWEBIMAGE_SANDBOX_LAYERS_H

#include "CWebImageSandbox.h"

#include <errno.h>
#include <sys/types.h>

/// As in shells, the status of a process that a signal has ended is this and the signal's number.
enum { SIGNAL_STATUS = 128 };

static inline int error_of(int result) { return result < 0 ? errno : 0; }

static inline void set_layer(cwi_sandbox_report *report, cwi_layer layer, int error) {
    report->errors[layer] = error;
    if (!error) report->active |= UINT32_C(1) << layer;
}

static inline bool has_layer(const cwi_sandbox_report *report, cwi_layer layer) {
    return report->active & (UINT32_C(1) << layer);
}

// Each returns 0 or an error number.

/// Becomes a user that nothing else has, as far as the process may: the limit on threads counts those of a user, and does not hold for root.
/// Returns whether it did.
bool cwi_become_unique_user(void);
int cwi_enter_empty_root(void);
int cwi_drop_capabilities(void);

/// Continues as a child, which ends with this process; this process supervises it from outside.
int cwi_continue_supervised(void);

/// Measures the memory of the process before it decodes.
void cwi_measure_memory(void);
/// Sets the limits of the whole process.
int cwi_set_limits(cwi_sandbox_limits limits);
int cwi_limit_threads(uint64_t count, bool is_only_process_of_user);
/// Sets the limits of another process for its next image.
void cwi_limit_process(pid_t process, uint64_t memory_length, uint64_t processor_seconds);

void cwi_enter_landlock(cwi_sandbox_report *report);
int cwi_filter_calls(void);

#endif
