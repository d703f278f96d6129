// Checks the head of a request: libmicrohttpd reads some heads that HTTP/1.1 forbids (RFC 9112), and a proxy in front may find other fields in
// them, or the next request at another place.
#ifndef CWI_HEAD_H
#define CWI_HEAD_H

#include "CWebImageHTTPD.h"

#include <microhttpd.h>

// A head as it was received, which is in one piece of memory: the method, the target, the version, then a name and a value for each field.
typedef struct {
    const char *method;
    // Where the target begins, and its length until its end or the first NUL.
    uintptr_t target;
    size_t target_length;
    const char *version;
} cwi_request_line;

// Whether everything in a head is what HTTP/1.1 allows there. To be called within the first call of the handler.
bool cwi_head_is_valid(struct MHD_Connection *connection, const char *target, cwi_request_line line);

// The value of MHD_OPTION_STRICT_FOR_CLIENT. Until 1.0, libmicrohttpd only looks for a host and for spaces in the target then, as this check does,
// and sends the head of its refusal twice.
int cwi_head_strictness(void);

#endif
