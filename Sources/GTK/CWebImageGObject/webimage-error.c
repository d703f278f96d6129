#include "error-private.h"

// What an error has besides its code and message.
typedef struct {
    int http_status;
    char *uri, *content_type;
} WebImageErrorPrivate;

static void web_image_error_private_init(WebImageErrorPrivate *private) { *private = (WebImageErrorPrivate){0}; }

static void web_image_error_private_copy(const WebImageErrorPrivate *source, WebImageErrorPrivate *copy) {
    *copy = (WebImageErrorPrivate){source->http_status, g_strdup(source->uri), g_strdup(source->content_type)};
}

static void web_image_error_private_clear(WebImageErrorPrivate *private) {
    g_free(private->uri);
    g_free(private->content_type);
}

/**
 * web_image_error_quark:
 *
 * Returns the domain of errors of this library.
 *
 * Returns: the domain
 *
 * Since: 0.2
 */
G_DEFINE_EXTENDED_ERROR(WebImageError, web_image_error)

G_DEFINE_ENUM_TYPE(
    WebImageError, web_image_error,
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_INVALID_URI, "invalid-uri"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_UNSUPPORTED_SCHEME, "unsupported-scheme"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_CANCELLED, "cancelled"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_INVALID_HEADER, "invalid-header"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_INVALID_DATA_URI, "invalid-data-uri"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_UNSUPPORTED_METHOD, "unsupported-method"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_HTTP_STATUS, "http-status"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TRANSPORT, "transport"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TIMED_OUT, "timed-out"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TOO_MANY_REDIRECTS, "too-many-redirects"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TRUNCATED_BODY, "truncated-body"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_EMPTY_BODY, "empty-body"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_BODY_TOO_LONG, "body-too-long"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_FILE, "file"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_CERTIFICATE, "certificate"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_BLOCKED_REDIRECT, "blocked-redirect"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_BLOCKED, "blocked"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_HEADERS_TOO_LONG, "headers-too-long"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_OFFLINE, "offline"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TOO_MANY_INFORMATIONAL_RESPONSES, "too-many-informational-responses"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_REFUSED_REQUEST, "refused-request"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_REFUSED_RESPONSE, "refused-response"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_CONTENT_TYPE, "content-type"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_CONTENT_CODING, "content-coding"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_DECRYPTION, "decryption"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TEMPORARY_FILE, "temporary-file"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_NO_THREAD, "no-thread"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_INVALID_PROXY, "invalid-proxy"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_CUSTOM, "custom"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_UNRECOGNIZED_FORMAT, "unrecognized-format"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_DECODING, "decoding"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_ENCODING, "encoding"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TOO_MANY_PIXELS, "too-many-pixels"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_INVALID_SIDE, "invalid-side"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_NO_MEMORY, "no-memory"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TOO_MANY_FRAMES, "too-many-frames"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_ANIMATION_TOO_LARGE, "animation-too-large"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TOO_MANY_SCANS, "too-many-scans"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TOO_MUCH_TIME, "too-much-time"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_METADATA_TOO_LARGE, "metadata-too-large"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_INVALID_FRAMES, "invalid-frames"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_TOO_MUCH_MEMORY, "too-much-memory"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_NO_PAGE, "no-page"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_PROCESSING, "processing"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_DRAWING, "drawing"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_ISOLATION, "isolation"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_NO_DECODER_PROCESS, "no-decoder-process"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_NOT_IN_CACHE, "not-in-cache"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_DISK_CACHE, "disk-cache"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_ARCHIVING, "archiving"),
    G_DEFINE_ENUM_VALUE(WEB_IMAGE_ERROR_UNARCHIVING, "unarchiving"))

GError *web_image_error_new(const WebImageBridgeError *error) {
    GError *new = g_error_new_literal(WEB_IMAGE_ERROR, error->code, error->message);
    WebImageErrorPrivate *private = web_image_error_get_private(new);
    private->http_status = error->http_status;
    private->uri = g_strdup(error->uri);
    private->content_type = g_strdup(error->content_type);
    return new;
}

// NULL for an error of another domain, such as %G_IO_ERROR_CANCELLED.
static const WebImageErrorPrivate *web_image_error_find_private(const GError *error) {
    return error != NULL && error->domain == WEB_IMAGE_ERROR ? web_image_error_get_private(error) : NULL;
}

/**
 * web_image_error_get_http_status:
 * @error: an error
 *
 * Returns the status that the server responded with, such as 404.
 *
 * Languages that make errors anew, as Python does, lose it: read [property@View:http-status] there.
 *
 * Returns: the status; 0 if it is not the cause, or not known
 *
 * Since: 0.3
 */
int web_image_error_get_http_status(const GError *error) {
    const WebImageErrorPrivate *private = web_image_error_find_private(error);
    return private == NULL ? 0 : private->http_status;
}

/**
 * web_image_error_get_uri:
 * @error: an error
 *
 * Returns the address that the error is about, without a user name or a password. After a redirect it may be another one than that of the
 * request.
 *
 * Returns: (nullable): the address; %NULL if it is not known
 *
 * Since: 0.3
 */
const char *web_image_error_get_uri(const GError *error) {
    const WebImageErrorPrivate *private = web_image_error_find_private(error);
    return private == NULL ? NULL : private->uri;
}

/**
 * web_image_error_get_content_type:
 * @error: an error
 *
 * Returns the type that the server has declared for a file that is not an image, such as `text/html`.
 *
 * Returns: (nullable): the type; %NULL if it is not the cause, or not known
 *
 * Since: 0.3
 */
const char *web_image_error_get_content_type(const GError *error) {
    const WebImageErrorPrivate *private = web_image_error_find_private(error);
    return private == NULL ? NULL : private->content_type;
}
