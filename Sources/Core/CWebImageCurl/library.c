#include "library.h"

CWI_LIBRARY(cwi_curl_library, CWI_CURL_FUNCTIONS, .files = {"libcurl.so.4"}, .package = "libcurl4")

static bool is_loaded(void) { return cwi_library_load(&cwi_curl_library); }

const char *cwi_curl_problem(void) {
    return is_loaded() ? NULL : cwi_curl_library.problem;
}

// MARK: Those that may be called without libcurl

CURLcode cwi_curl_global_init(void) {
    return is_loaded() ? (curl_global_init)(CURL_GLOBAL_DEFAULT) : CURLE_FAILED_INIT;
}

CURL *cwi_curl_easy_init(void) {
    return is_loaded() ? curl_easy_init() : NULL;
}

CURLM *cwi_curl_multi_init(void) {
    return is_loaded() ? curl_multi_init() : NULL;
}

CURLSH *cwi_curl_share_init(void) {
    return is_loaded() ? curl_share_init() : NULL;
}

struct curl_slist *cwi_curl_slist_append(struct curl_slist *list, const char *line) {
    return is_loaded() ? curl_slist_append(list, line) : NULL;
}

const curl_version_info_data *cwi_curl_version(void) {
    return is_loaded() ? curl_version_info(CURLVERSION_NOW) : NULL;
}

// MARK: Those that take what the others return

void cwi_curl_easy_cleanup(CURL *easy) {
    curl_easy_cleanup(easy);
}

CURLcode cwi_curl_easy_pause(CURL *easy, int state) {
    return curl_easy_pause(easy, state);
}

const char *cwi_curl_easy_text(CURLcode code) {
    return is_loaded() ? curl_easy_strerror(code) : cwi_curl_library.problem;
}

CURLMcode cwi_curl_multi_add(CURLM *multi, CURL *easy) {
    return curl_multi_add_handle(multi, easy);
}

CURLMcode cwi_curl_multi_remove(CURLM *multi, CURL *easy) {
    return curl_multi_remove_handle(multi, easy);
}

CURLMcode cwi_curl_multi_cleanup(CURLM *multi) {
    return curl_multi_cleanup(multi);
}

CURLMsg *cwi_curl_multi_message(CURLM *multi) {
    int rest = 0;
    return curl_multi_info_read(multi, &rest);
}

CURLMcode cwi_curl_multi_perform(CURLM *multi) {
    int running = 0;
    return curl_multi_perform(multi, &running);
}

CURLMcode cwi_curl_multi_wait(CURLM *multi, int milliseconds) {
    return curl_multi_poll(multi, NULL, 0, milliseconds, NULL);
}

CURLMcode cwi_curl_multi_wakeup(CURLM *multi) {
    return curl_multi_wakeup(multi);
}

const char *cwi_curl_multi_text(CURLMcode code) {
    return is_loaded() ? curl_multi_strerror(code) : cwi_curl_library.problem;
}

CURLSHcode cwi_curl_share_cleanup(CURLSH *share) {
    return curl_share_cleanup(share);
}

void cwi_curl_slist_free(struct curl_slist *list) {
    if (list) curl_slist_free_all(list);
}
