#ifndef CWEBIMAGE_CURL_H
#define CWEBIMAGE_CURL_H

#include <curl/curl.h>
#include <stddef.h>

// libcurl's setters and getters are variadic, which Swift can't call. These are one for each type of argument; the
// rest of its API imports as it is. The caller must choose the one that fits the option (curl's symbols-in-versions).

CURLcode cwi_curl_set_long(CURL *easy, CURLoption option, long value);
/// Strings are copied by libcurl; pointers are kept and must live as long as the handle uses them.
CURLcode cwi_curl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode cwi_curl_set_pointer(CURL *easy, CURLoption option, void *value);

CURLcode cwi_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
/// For CURLOPT_COPYPOSTFIELDS, which copies as many as CURLOPT_POSTFIELDSIZE_LARGE says.
CURLcode cwi_curl_set_bytes(CURL *easy, CURLoption option, const void *bytes);

/// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
typedef size_t (*cwi_curl_data_callback)(char *bytes, size_t size, size_t count, void *context);
CURLcode cwi_curl_set_data_callback(CURL *easy, CURLoption option, cwi_curl_data_callback callback);

/// For CURLOPT_PREREQFUNCTION: a connection is there and the request about to be sent.
typedef int (*cwi_curl_connected_callback)(
    void *context, char *remote_address, char *local_address, int remote_port, int local_port);
CURLcode cwi_curl_set_connected_callback(CURL *easy, cwi_curl_connected_callback callback);

/// For CURLOPT_XFERINFOFUNCTION, which is called only where CURLOPT_NOPROGRESS is 0.
CURLcode cwi_curl_set_progress_callback(CURL *easy, curl_xferinfo_callback callback);

CURLcode cwi_curl_set_open_socket_callback(CURL *easy, curl_opensocket_callback callback);

/// Bytes that libcurl copies.
CURLcode cwi_curl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count);

/// For CURLINFO_COOKIELIST: the caller frees it. NULL when there are none.
struct curl_slist *cwi_curl_get_list(CURL *easy, CURLINFO info);

CURLSHcode cwi_curl_share_data(CURLSH *share, curl_lock_data data);

// About the connection of a transfer that libcurl works on, where its TLS library is OpenSSL and the process has one alone.

/// The number of bytes that were decrypted and that libcurl has not read; -1 where that can't be told.
int cwi_curl_tls_pending(CURL *easy);
/// Whether the server has said that nothing comes any more (close_notify); -1 where that can't be told.
int cwi_curl_tls_is_closed(CURL *easy);

/// What a transfer was like; 0 or NULL where libcurl does not know. Strings live as long as the handle's transfer.
long cwi_curl_get_long(CURL *easy, CURLINFO info);
curl_off_t cwi_curl_get_offset(CURL *easy, CURLINFO info);
const char *cwi_curl_get_string(CURL *easy, CURLINFO info);

CURLMcode cwi_curl_multi_set_long(CURLM *multi, CURLMoption option, long value);

/// The result of a finished transfer: CURLMsg keeps it in a union.
CURLcode cwi_curl_message_result(const CURLMsg *message);

#endif
