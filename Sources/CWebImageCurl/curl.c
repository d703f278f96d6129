#include "CWebImageCurl.h"

CURLcode cwi_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode cwi_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode cwi_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode cwi_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode cwi_curl_set_bytes(CURL *easy, CURLoption option, const void *bytes) {
    return curl_easy_setopt(easy, option, bytes);
}

CURLcode cwi_curl_set_data_callback(CURL *easy, CURLoption option, cwi_curl_data_callback callback) {
    return curl_easy_setopt(easy, option, callback);
}

CURLcode cwi_curl_set_connected_callback(CURL *easy, cwi_curl_connected_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

CURLcode cwi_curl_set_open_socket_callback(CURL *easy, curl_opensocket_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

CURLcode cwi_curl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {.data = (void *)bytes, .len = count, .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

struct curl_slist *cwi_curl_get_list(CURL *easy, CURLINFO info) {
    struct curl_slist *list = NULL;
    return curl_easy_getinfo(easy, info, &list) == CURLE_OK ? list : NULL;
}

CURLSH *cwi_curl_share_cookies(void) {
    CURLSH *share = curl_share_init();
    if (share && curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE) != CURLSHE_OK) {
        curl_share_cleanup(share);
        share = NULL;
    }
    return share;
}

long cwi_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

curl_off_t cwi_curl_get_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

const char *cwi_curl_get_string(CURL *easy, CURLINFO info) {
    char *value = NULL;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

CURLMcode cwi_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

CURLcode cwi_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}
