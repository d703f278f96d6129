#define _GNU_SOURCE

#include "head.h"

#include <string.h>
#include <strings.h>

static bool is_letter_or_digit(unsigned char character) {
    return (character >= '0' && character <= '9') || (character >= 'A' && character <= 'Z') ||
           (character >= 'a' && character <= 'z');
}

// RFC 9110, 5.6.2: a method, and the name of a field.
static bool is_token(const char *text) {
    if (!*text) return false;
    for (; *text; text++)
        if (!is_letter_or_digit((unsigned char)*text) && !strchr("!#$%&'*+-.^_`|~", *text)) return false;
    return true;
}

// Whether there is no control character, such as a CR without LF.
static bool is_printable(const char *text, bool allows_space) {
    for (; *text; text++) {
        unsigned char character = (unsigned char)*text;
        bool is_space = character == ' ' || character == '\t';
        if (is_space ? !allows_space : character < 0x20 || character == 0x7F) return false;
    }
    return true;
}

// Of a name, an address, and a port. It may be empty.
static bool is_host(const char *text) {
    for (; *text; text++)
        if (!is_letter_or_digit((unsigned char)*text) && !strchr("-._~%!$&'()*+,;=:[]", *text)) return false;
    return true;
}

// What is found while the fields are read in their order.
struct walk {
    bool is_valid, checks_places;
    unsigned int host_count;
    // Where the next field begins.
    uintptr_t place;
};

static enum MHD_Result check_field(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    struct walk *walk = context;
    if (!name) name = "";
    if (!value) value = "";
    if (strcasecmp(name, "Host") == 0) {
        walk->host_count++;
        if (!is_host(value)) walk->is_valid = false;
    }
    if (!is_token(name) || !is_printable(value, true)) walk->is_valid = false;
    if (walk->is_valid && walk->checks_places) {
        const char *after_colon = name + strlen(name) + 1;
        // A folded line moves the name, and a NUL hides what is between it and the next field.
        walk->is_valid = (uintptr_t)name == walk->place && (uintptr_t)value >= (uintptr_t)after_colon &&
                         strspn(after_colon, " \t") == (uintptr_t)value - (uintptr_t)after_colon;
        walk->place = (uintptr_t)value + strlen(value) + 2;
    }
    return walk->is_valid ? MHD_YES : MHD_NO;
}

// Until 1.0, libmicrohttpd joins folded lines and ends texts at a NUL without a trace but the places of texts: in a head that it has not
// changed, each text is where the one before ends, and a line ends with CR and LF. Later versions refuse such heads, and move texts.
static bool keeps_places(void) { return strncmp(MHD_get_version(), "0.", 2) == 0; }

int cwi_head_strictness(void) { return keeps_places() ? 0 : 1; }

bool cwi_head_is_valid(struct MHD_Connection *connection, const char *target, cwi_request_line line) {
    if (!is_token(line.method) || !*target || !is_printable(target, false)) return false;
    struct walk walk = {.is_valid = true, .checks_places = keeps_places()};
    if (walk.checks_places) {
        if ((uintptr_t)line.method + strlen(line.method) + 1 != line.target) return false;
        if (line.target + line.target_length + 1 != (uintptr_t)line.version) return false;
        walk.place = (uintptr_t)line.version + strlen(line.version) + 2;
    }
    MHD_get_connection_values(connection, MHD_HEADER_KIND, check_field, &walk);
    bool needs_host = strcmp(line.version, MHD_HTTP_VERSION_1_0) != 0;
    if (!walk.is_valid || walk.host_count > 1 || (needs_host && walk.host_count == 0)) return false;
    if (!walk.checks_places) return true;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    // An empty line ends the head.
    return info && walk.place + 2 == (uintptr_t)line.method + info->header_size;
}
