#ifndef CWEBIMAGE_CURL_H
#define CWEBIMAGE_CURL_H

#include <curl/curl.h>
#include <stddef.h>

// libcurl is loaded when the first of these functions is called. Without it, those that make something return NULL or an error, and the
// others cannot be called.

/// Why libcurl cannot be used; NULL if it can. Valid forever.
const char *cwi_curl_problem(void);

/// With CURL_GLOBAL_DEFAULT.
CURLcode cwi_curl_global_init(void);
CURL *cwi_curl_easy_init(void);
void cwi_curl_easy_cleanup(CURL *easy);
CURLcode cwi_curl_easy_pause(CURL *easy, int state);
const char *cwi_curl_easy_text(CURLcode code);
CURLM *cwi_curl_multi_init(void);
CURLMcode cwi_curl_multi_add(CURLM *multi, CURL *easy);
CURLMcode cwi_curl_multi_remove(CURLM *multi, CURL *easy);
CURLMcode cwi_curl_multi_cleanup(CURLM *multi);
/// The next message about a transfer; NULL for none.
CURLMsg *cwi_curl_multi_message(CURLM *multi);
CURLMcode cwi_curl_multi_perform(CURLM *multi);
/// Until there is something to do, or `cwi_curl_multi_wakeup`.
CURLMcode cwi_curl_multi_wait(CURLM *multi, int milliseconds);
/// May be called on any thread.
CURLMcode cwi_curl_multi_wakeup(CURLM *multi);
const char *cwi_curl_multi_text(CURLMcode code);
CURLSH *cwi_curl_share_init(void);
CURLSHcode cwi_curl_share_cleanup(CURLSH *share);
struct curl_slist *cwi_curl_slist_append(struct curl_slist *list, const char *line);
void cwi_curl_slist_free(struct curl_slist *list);
const curl_version_info_data *cwi_curl_version(void);

// libcurl's setters and getters are variadic, which Swift cannot call. There is one function here for each type of argument. The caller
// must choose the function that fits the option (curl's symbols-in-versions).

CURLcode cwi_curl_set_long(CURL *easy, CURLoption option, long value);
/// Strings are copied by libcurl; pointers are kept and must live as long as the handle uses them.
CURLcode cwi_curl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode cwi_curl_set_pointer(CURL *easy, CURLoption option, void *value);

CURLcode cwi_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
/// For CURLOPT_COPYPOSTFIELDS, which copies CURLOPT_POSTFIELDSIZE_LARGE bytes.
CURLcode cwi_curl_set_bytes(CURL *easy, CURLoption option, const void *bytes);

/// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
typedef size_t (*cwi_curl_data_callback)(char *bytes, size_t size, size_t count, void *context);
CURLcode cwi_curl_set_data_callback(CURL *easy, CURLoption option, cwi_curl_data_callback callback);

/// For CURLOPT_PREREQFUNCTION, called with a connection before the request is sent.
typedef int (*cwi_curl_connected_callback)(
    void *context, char *remote_address, char *local_address, int remote_port, int local_port);
CURLcode cwi_curl_set_connected_callback(CURL *easy, cwi_curl_connected_callback callback);

/// For CURLOPT_XFERINFOFUNCTION, which is called only where CURLOPT_NOPROGRESS is 0.
CURLcode cwi_curl_set_progress_callback(CURL *easy, curl_xferinfo_callback callback);

CURLcode cwi_curl_set_open_socket_callback(CURL *easy, curl_opensocket_callback callback);

/// Bytes that libcurl copies.
CURLcode cwi_curl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count);

/// For CURLINFO_COOKIELIST. The caller frees the list; NULL for an empty one.
struct curl_slist *cwi_curl_get_list(CURL *easy, CURLINFO info);

CURLSHcode cwi_curl_share_data(CURLSH *share, curl_lock_data data);

// The connection of a running transfer, if libcurl's TLS library is OpenSSL and the process has only one.

/// The number of decrypted bytes that libcurl has not read; -1 if unknown.
int cwi_curl_tls_pending(CURL *easy);
/// Whether the server has announced the end of the connection (close_notify); -1 if unknown.
int cwi_curl_tls_is_closed(CURL *easy);

/// The encryption of a connection. Names are the common name or the organization.
typedef struct {
    /// Valid forever.
    const char *version, *cipher;
    char subject[128], issuer[128];
    /// Seconds since 1970; 0 without a certificate.
    long long expires;
} cwi_curl_security;
/// Returns 0 if it is unknown.
int cwi_curl_get_security(CURL *easy, cwi_curl_security *security);

/// Measurements of a transfer; 0 or NULL if unknown. Strings live as long as the handle's transfer.
long cwi_curl_get_long(CURL *easy, CURLINFO info);
curl_off_t cwi_curl_get_offset(CURL *easy, CURLINFO info);
const char *cwi_curl_get_string(CURL *easy, CURLINFO info);

CURLMcode cwi_curl_multi_set_long(CURLM *multi, CURLMoption option, long value);

/// The result of a finished transfer, which CURLMsg has in a union.
CURLcode cwi_curl_message_result(const CURLMsg *message);

#endif
