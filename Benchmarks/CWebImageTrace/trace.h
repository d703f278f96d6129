// Callgrind's counting, turned on and off by the program that it counts. Without valgrind's headers these functions do nothing.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
static inline void trace_begin(void) { CALLGRIND_START_INSTRUMENTATION; }
static inline void trace_end(void) { CALLGRIND_STOP_INSTRUMENTATION; }
#else
static inline void trace_begin(void) {}
static inline void trace_end(void) {}
#endif
