#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static cwi_curl_library library;
static char problem[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    cwi_curl_library found = {.handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL)};
    const char *missing = NULL;
    if (!found.handle) missing = dlerror();
#define FIND(name)                                                     \
    if (!missing) {                                                    \
        found.name = (__typeof__(name) *)dlsym(found.handle, #name);   \
        if (!found.name) missing = "libcurl.so.4 has no " #name;       \
    }
    CWI_CURL_FUNCTIONS(FIND)
#undef FIND
    if (missing) {
        snprintf(problem, sizeof problem, "%s", missing);
    } else {
        library = found;
    }
}

const cwi_curl_library *cwi_curl(void) {
    pthread_once(&once, load);
    return &library;
}

const char *cwi_curl_problem(void) {
    return cwi_curl()->handle ? NULL : problem;
}

// MARK: Those that may be called without libcurl

CURLcode cwi_curl_global_init(void) {
    return cwi_curl()->handle ? (cwi_curl()->curl_global_init)(CURL_GLOBAL_DEFAULT) : CURLE_FAILED_INIT;
}

CURL *cwi_curl_easy_init(void) {
    return cwi_curl()->handle ? cwi_curl()->curl_easy_init() : NULL;
}

CURLM *cwi_curl_multi_init(void) {
    return cwi_curl()->handle ? cwi_curl()->curl_multi_init() : NULL;
}

CURLSH *cwi_curl_share_init(void) {
    return cwi_curl()->handle ? cwi_curl()->curl_share_init() : NULL;
}

struct curl_slist *cwi_curl_slist_append(struct curl_slist *list, const char *line) {
    return cwi_curl()->handle ? cwi_curl()->curl_slist_append(list, line) : NULL;
}

const curl_version_info_data *cwi_curl_version(void) {
    return cwi_curl()->handle ? cwi_curl()->curl_version_info(CURLVERSION_NOW) : NULL;
}

// MARK: Those that take what the others return

void cwi_curl_easy_cleanup(CURL *easy) {
    cwi_curl()->curl_easy_cleanup(easy);
}

CURLcode cwi_curl_easy_pause(CURL *easy, int state) {
    return cwi_curl()->curl_easy_pause(easy, state);
}

const char *cwi_curl_easy_text(CURLcode code) {
    return cwi_curl()->handle ? cwi_curl()->curl_easy_strerror(code) : problem;
}

CURLMcode cwi_curl_multi_add(CURLM *multi, CURL *easy) {
    return cwi_curl()->curl_multi_add_handle(multi, easy);
}

CURLMcode cwi_curl_multi_remove(CURLM *multi, CURL *easy) {
    return cwi_curl()->curl_multi_remove_handle(multi, easy);
}

CURLMcode cwi_curl_multi_cleanup(CURLM *multi) {
    return cwi_curl()->curl_multi_cleanup(multi);
}

CURLMsg *cwi_curl_multi_message(CURLM *multi) {
    int rest = 0;
    return cwi_curl()->curl_multi_info_read(multi, &rest);
}

CURLMcode cwi_curl_multi_perform(CURLM *multi) {
    int running = 0;
    return cwi_curl()->curl_multi_perform(multi, &running);
}

CURLMcode cwi_curl_multi_wait(CURLM *multi, int milliseconds) {
    return cwi_curl()->curl_multi_poll(multi, NULL, 0, milliseconds, NULL);
}

CURLMcode cwi_curl_multi_wakeup(CURLM *multi) {
    return cwi_curl()->curl_multi_wakeup(multi);
}

const char *cwi_curl_multi_text(CURLMcode code) {
    return cwi_curl()->handle ? cwi_curl()->curl_multi_strerror(code) : problem;
}

CURLSHcode cwi_curl_share_cleanup(CURLSH *share) {
    return cwi_curl()->curl_share_cleanup(share);
}

void cwi_curl_slist_free(struct curl_slist *list) {
    if (list) cwi_curl()->curl_slist_free_all(list);
}
