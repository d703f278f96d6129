#ifndef CWEBIMAGE_CURL_LIBRARY_H
#define CWEBIMAGE_CURL_LIBRARY_H

#include "CWebImageCurl.h"

// libcurl's functions, looked up when the first one is needed. libcurl brings some 30 libraries with it, whose start takes longer than the
// rest of a program's.
#define CWI_CURL_FUNCTIONS(F)                                                                                                   \
    F(curl_easy_cleanup) F(curl_easy_getinfo) F(curl_easy_init) F(curl_easy_pause) F(curl_easy_setopt) F(curl_easy_strerror)    \
    F(curl_global_init) F(curl_multi_add_handle) F(curl_multi_cleanup) F(curl_multi_info_read) F(curl_multi_init)               \
    F(curl_multi_perform) F(curl_multi_poll) F(curl_multi_remove_handle) F(curl_multi_setopt) F(curl_multi_strerror)            \
    F(curl_multi_wakeup) F(curl_share_cleanup) F(curl_share_init) F(curl_share_setopt) F(curl_slist_append)                     \
    F(curl_slist_free_all) F(curl_version_info)

#define CWI_CURL_MEMBER(name) __typeof__(name) *name;
typedef struct {
    CWI_CURL_FUNCTIONS(CWI_CURL_MEMBER)
    /// For what it has loaded itself.
    void *handle;
} cwi_curl_library;
#undef CWI_CURL_MEMBER

/// All members are NULL if libcurl cannot be loaded.
const cwi_curl_library *cwi_curl(void);

#endif
