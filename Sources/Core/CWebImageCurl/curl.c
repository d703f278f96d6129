#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

CURLcode cwi_curl_set_long(CURL *easy, CURLoption option, long value) {
    return (curl_easy_setopt)(easy, option, value);
}

CURLcode cwi_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return (curl_easy_setopt)(easy, option, value);
}

CURLcode cwi_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return (curl_easy_setopt)(easy, option, value);
}

CURLcode cwi_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return (curl_easy_setopt)(easy, option, value);
}

CURLcode cwi_curl_set_bytes(CURL *easy, CURLoption option, const void *bytes) {
    return (curl_easy_setopt)(easy, option, bytes);
}

CURLcode cwi_curl_set_data_callback(CURL *easy, CURLoption option, cwi_curl_data_callback callback) {
    return (curl_easy_setopt)(easy, option, callback);
}

CURLcode cwi_curl_set_connected_callback(CURL *easy, cwi_curl_connected_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_PREREQFUNCTION, callback);
}

CURLcode cwi_curl_set_progress_callback(CURL *easy, curl_xferinfo_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_XFERINFOFUNCTION, callback);
}

CURLcode cwi_curl_set_open_socket_callback(CURL *easy, curl_opensocket_callback callback) {
    return (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

CURLcode cwi_curl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {.data = (void *)bytes, .len = count, .flags = CURL_BLOB_COPY};
    return (curl_easy_setopt)(easy, option, &blob);
}

struct curl_slist *cwi_curl_get_list(CURL *easy, CURLINFO info) {
    struct curl_slist *list = NULL;
    return (curl_easy_getinfo)(easy, info, &list) == CURLE_OK ? list : NULL;
}

CURLSHcode cwi_curl_share_data(CURLSH *share, curl_lock_data data) {
    return (curl_share_setopt)(share, CURLSHOPT_SHARE, data);
}

long cwi_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return (curl_easy_getinfo)(easy, info, &value) == CURLE_OK ? value : 0;
}

curl_off_t cwi_curl_get_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return (curl_easy_getinfo)(easy, info, &value) == CURLE_OK ? value : 0;
}

const char *cwi_curl_get_string(CURL *easy, CURLINFO info) {
    char *value = NULL;
    return (curl_easy_getinfo)(easy, info, &value) == CURLE_OK ? value : NULL;
}

CURLMcode cwi_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return (curl_multi_setopt)(multi, option, value);
}

CURLcode cwi_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}

// OpenSSL's functions are looked up among those that libcurl has loaded: it may have another TLS library.
static struct {
    int (*pending)(const void *tls);
    int (*get_shutdown)(const void *tls);
    const char *(*get_version)(const void *tls);
    const void *(*get_cipher)(const void *tls);
    const char *(*cipher_name)(const void *cipher);
    void *(*get_certificate)(const void *tls);
    void (*free_certificate)(void *certificate);
    const void *(*subject)(const void *certificate);
    const void *(*issuer)(const void *certificate);
    int (*text)(const void *name, int part, char *text, int size);
    const void *(*expiry)(const void *certificate);
    int (*to_tm)(const void *time, struct tm *result);
} openssl;
static pthread_once_t openssl_once = PTHREAD_ONCE_INIT;

static void find_openssl(void) {
    // Only if it is the one that libcurl uses: the objects of another must not be given to it.
    const char *(*version)(int) = (const char *(*)(int))dlsym(cwi_curl_library.handle, "OpenSSL_version");
    const char *used = cwi_curl_version()->ssl_version;
    const char prefix[] = "OpenSSL/";
    const int version_string = 6;  // OPENSSL_VERSION_STRING, since OpenSSL 3
    if (!version || !used || strncmp(used, prefix, strlen(prefix)) != 0) return;
    const char *number = version(version_string);
    if (strncmp(used + strlen(prefix), number, strlen(number)) != 0) return;
    openssl.pending = (int (*)(const void *))dlsym(cwi_curl_library.handle, "SSL_pending");
    openssl.get_shutdown = (int (*)(const void *))dlsym(cwi_curl_library.handle, "SSL_get_shutdown");
    openssl.get_version = (const char *(*)(const void *))dlsym(cwi_curl_library.handle, "SSL_get_version");
    openssl.get_cipher = (const void *(*)(const void *))dlsym(cwi_curl_library.handle, "SSL_get_current_cipher");
    openssl.cipher_name = (const char *(*)(const void *))dlsym(cwi_curl_library.handle, "SSL_CIPHER_get_name");
    openssl.get_certificate = (void *(*)(const void *))dlsym(cwi_curl_library.handle, "SSL_get1_peer_certificate");
    openssl.free_certificate = (void (*)(void *))dlsym(cwi_curl_library.handle, "X509_free");
    openssl.subject = (const void *(*)(const void *))dlsym(cwi_curl_library.handle, "X509_get_subject_name");
    openssl.issuer = (const void *(*)(const void *))dlsym(cwi_curl_library.handle, "X509_get_issuer_name");
    openssl.text = (int (*)(const void *, int, char *, int))dlsym(cwi_curl_library.handle, "X509_NAME_get_text_by_NID");
    openssl.expiry = (const void *(*)(const void *))dlsym(cwi_curl_library.handle, "X509_get0_notAfter");
    openssl.to_tm = (int (*)(const void *, struct tm *))dlsym(cwi_curl_library.handle, "ASN1_TIME_to_tm");
}

static const void *openssl_of(CURL *easy) {
    pthread_once(&openssl_once, find_openssl);
    struct curl_tlssessioninfo *info = NULL;
    if ((curl_easy_getinfo)(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
    return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}

int cwi_curl_tls_pending(CURL *easy) {
    const void *tls = openssl_of(easy);
    return tls && openssl.pending ? openssl.pending(tls) : -1;
}

int cwi_curl_tls_is_closed(CURL *easy) {
    const int received = 2;  // SSL_RECEIVED_SHUTDOWN
    const void *tls = openssl_of(easy);
    return tls && openssl.get_shutdown ? (openssl.get_shutdown(tls) & received) != 0 : -1;
}

static void copy_name(const void *name, char *text, int size) {
    const int common_name = 13, organization = 17;  // NID_commonName, NID_organizationName
    if (openssl.text(name, common_name, text, size) < 0 && openssl.text(name, organization, text, size) < 0) text[0] = 0;
}

int cwi_curl_get_security(CURL *easy, cwi_curl_security *security) {
    memset(security, 0, sizeof *security);
    const void *tls = openssl_of(easy);
    if (!tls || !openssl.get_version || !openssl.get_cipher || !openssl.cipher_name) return 0;
    security->version = openssl.get_version(tls);
    security->cipher = openssl.cipher_name(openssl.get_cipher(tls));
    if (!security->version || !security->cipher) return 0;
    if (!openssl.get_certificate || !openssl.free_certificate || !openssl.subject || !openssl.issuer || !openssl.text ||
        !openssl.expiry || !openssl.to_tm)
        return 1;
    void *certificate = openssl.get_certificate(tls);
    if (!certificate) return 1;
    struct tm expiry = {0};
    if (openssl.to_tm(openssl.expiry(certificate), &expiry)) {
        copy_name(openssl.subject(certificate), security->subject, sizeof security->subject);
        copy_name(openssl.issuer(certificate), security->issuer, sizeof security->issuer);
        security->expires = timegm(&expiry);
    }
    openssl.free_certificate(certificate);
    return 1;
}
