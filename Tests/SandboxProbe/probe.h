#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Changes what is around the process. Ends it if that fails.
void enter_situation(const char *situation);

/// Appends a line `NAME RESULT` for each act that a process which was taken over could try.
void try_acts(const char *arguments);

/// Opens what acts need.
void prepare_acts(void);

/// Appends to what is sent to the test.
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

#endif
