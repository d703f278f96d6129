#ifndef CWEBIMAGE_CURL_LIBRARY_H
#define CWEBIMAGE_CURL_LIBRARY_H

#include <CWebImageLibrary.h>

// libcurl's functions. libcurl brings some 30 libraries with it, whose start takes longer than the rest of a program's.
#define CWI_CURL_FUNCTIONS(F)                                                                                                   \
    F(curl_easy_cleanup) F(curl_easy_getinfo) F(curl_easy_init) F(curl_easy_pause) F(curl_easy_setopt) F(curl_easy_strerror)    \
    F(curl_global_init) F(curl_multi_add_handle) F(curl_multi_cleanup) F(curl_multi_info_read) F(curl_multi_init)               \
    F(curl_multi_perform) F(curl_multi_poll) F(curl_multi_remove_handle) F(curl_multi_setopt) F(curl_multi_strerror)            \
    F(curl_multi_wakeup) F(curl_share_cleanup) F(curl_share_init) F(curl_share_setopt) F(curl_slist_append)                     \
    F(curl_slist_free_all) F(curl_version_info)

CWI_CURL_FUNCTIONS(CWI_REDIRECT)

#include "CWebImageCurl.h"

extern cwi_library cwi_curl_library;

#endif
