#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/**
 * WebImageError:
 * @WEB_IMAGE_ERROR_INVALID_URI: the text is not a URI
 * @WEB_IMAGE_ERROR_UNSUPPORTED_SCHEME: no loader handles URIs of this scheme
 * @WEB_IMAGE_ERROR_CANCELLED: the load was cancelled. Asynchronous functions report %G_IO_ERROR_CANCELLED instead
 * @WEB_IMAGE_ERROR_INVALID_HEADER: a header field is not valid
 * @WEB_IMAGE_ERROR_INVALID_DATA_URI: the content of a `data:` URI is not valid
 * @WEB_IMAGE_ERROR_UNSUPPORTED_METHOD: the loader does not support the method
 * @WEB_IMAGE_ERROR_HTTP_STATUS: the server responded with an error status
 * @WEB_IMAGE_ERROR_TRANSPORT: the connection failed
 * @WEB_IMAGE_ERROR_TIMED_OUT: the load reached a time limit
 * @WEB_IMAGE_ERROR_TOO_MANY_REDIRECTS: the server redirected too often
 * @WEB_IMAGE_ERROR_TRUNCATED_BODY: the body ended early
 * @WEB_IMAGE_ERROR_EMPTY_BODY: the response was a success without a body
 * @WEB_IMAGE_ERROR_BODY_TOO_LONG: the body is longer than allowed
 * @WEB_IMAGE_ERROR_FILE: a file could not be read or written
 * @WEB_IMAGE_ERROR_CERTIFICATE: the identity of the server could not be verified
 * @WEB_IMAGE_ERROR_BLOCKED_REDIRECT: the redirect is not allowed
 * @WEB_IMAGE_ERROR_BLOCKED: the address is not allowed
 * @WEB_IMAGE_ERROR_HEADERS_TOO_LONG: the head of the response is longer than allowed
 * @WEB_IMAGE_ERROR_OFFLINE: no network became available in time
 * @WEB_IMAGE_ERROR_TOO_MANY_INFORMATIONAL_RESPONSES: the server sent no final response
 * @WEB_IMAGE_ERROR_REFUSED_REQUEST: a hook refused the request
 * @WEB_IMAGE_ERROR_REFUSED_RESPONSE: a hook refused the response
 * @WEB_IMAGE_ERROR_CONTENT_TYPE: the content type is not accepted
 * @WEB_IMAGE_ERROR_CONTENT_CODING: the content coding is not supported
 * @WEB_IMAGE_ERROR_DECRYPTION: the body could not be decrypted
 * @WEB_IMAGE_ERROR_TEMPORARY_FILE: a temporary file could not be written
 * @WEB_IMAGE_ERROR_NO_THREAD: no thread is available for the load
 * @WEB_IMAGE_ERROR_INVALID_PROXY: a variable of the environment does not name a usable proxy
 * @WEB_IMAGE_ERROR_CUSTOM: a closure that provides an image failed
 * @WEB_IMAGE_ERROR_UNRECOGNIZED_FORMAT: the file is not an image of a known format
 * @WEB_IMAGE_ERROR_DECODING: the image is damaged, or uses a feature that is not supported
 * @WEB_IMAGE_ERROR_ENCODING: the image could not be encoded
 * @WEB_IMAGE_ERROR_TOO_MANY_PIXELS: the image has more pixels than allowed
 * @WEB_IMAGE_ERROR_INVALID_SIDE: a side of the image is too short or too long
 * @WEB_IMAGE_ERROR_NO_MEMORY: a block of memory could not be allocated
 * @WEB_IMAGE_ERROR_TOO_MANY_FRAMES: the animation has more frames than allowed
 * @WEB_IMAGE_ERROR_ANIMATION_TOO_LARGE: the frames take more memory than allowed
 * @WEB_IMAGE_ERROR_TOO_MANY_SCANS: a progressive image has more scans than allowed
 * @WEB_IMAGE_ERROR_TOO_MUCH_TIME: decoding took more time than allowed
 * @WEB_IMAGE_ERROR_METADATA_TOO_LARGE: the metadata is larger than allowed
 * @WEB_IMAGE_ERROR_INVALID_FRAMES: the frames cannot form an animation
 * @WEB_IMAGE_ERROR_TOO_MUCH_MEMORY: decoding takes more memory than allowed
 * @WEB_IMAGE_ERROR_NO_PAGE: the file has no such page
 * @WEB_IMAGE_ERROR_PROCESSING: a processor failed, or a text describes none
 * @WEB_IMAGE_ERROR_DRAWING: a drawing failed
 * @WEB_IMAGE_ERROR_ISOLATION: the process that decodes failed
 * @WEB_IMAGE_ERROR_NO_DECODER_PROCESS: no process that decodes can be started
 * @WEB_IMAGE_ERROR_NOT_IN_CACHE: the image is not cached, and the policy allows no other source
 * @WEB_IMAGE_ERROR_DISK_CACHE: the disk cache cannot be used
 * @WEB_IMAGE_ERROR_ARCHIVING: a value could not be stored
 * @WEB_IMAGE_ERROR_UNARCHIVING: a stored value could not be read
 *
 * Why an image could not be loaded.
 *
 * The message of the error says what happened, and what to do about it. The numbers are stable: 1xx are about the request, 2xx
 * about loading, 3xx about decoding and processing, 4xx about caching.
 *
 * Since: 0.2
 */
typedef enum {
    WEB_IMAGE_ERROR_INVALID_URI = 100,
    WEB_IMAGE_ERROR_UNSUPPORTED_SCHEME = 101,
    WEB_IMAGE_ERROR_CANCELLED = 102,
    WEB_IMAGE_ERROR_INVALID_HEADER = 103,
    WEB_IMAGE_ERROR_INVALID_DATA_URI = 104,
    WEB_IMAGE_ERROR_UNSUPPORTED_METHOD = 105,
    WEB_IMAGE_ERROR_HTTP_STATUS = 200,
    WEB_IMAGE_ERROR_TRANSPORT = 201,
    WEB_IMAGE_ERROR_TIMED_OUT = 202,
    WEB_IMAGE_ERROR_TOO_MANY_REDIRECTS = 203,
    WEB_IMAGE_ERROR_TRUNCATED_BODY = 204,
    WEB_IMAGE_ERROR_EMPTY_BODY = 205,
    WEB_IMAGE_ERROR_BODY_TOO_LONG = 206,
    WEB_IMAGE_ERROR_FILE = 207,
    WEB_IMAGE_ERROR_CERTIFICATE = 208,
    WEB_IMAGE_ERROR_BLOCKED_REDIRECT = 209,
    WEB_IMAGE_ERROR_BLOCKED = 210,
    WEB_IMAGE_ERROR_HEADERS_TOO_LONG = 211,
    WEB_IMAGE_ERROR_OFFLINE = 212,
    WEB_IMAGE_ERROR_TOO_MANY_INFORMATIONAL_RESPONSES = 213,
    WEB_IMAGE_ERROR_REFUSED_REQUEST = 220,
    WEB_IMAGE_ERROR_REFUSED_RESPONSE = 221,
    WEB_IMAGE_ERROR_CONTENT_TYPE = 222,
    WEB_IMAGE_ERROR_CONTENT_CODING = 223,
    WEB_IMAGE_ERROR_DECRYPTION = 224,
    WEB_IMAGE_ERROR_TEMPORARY_FILE = 225,
    WEB_IMAGE_ERROR_NO_THREAD = 226,
    WEB_IMAGE_ERROR_INVALID_PROXY = 227,
    WEB_IMAGE_ERROR_CUSTOM = 240,
    WEB_IMAGE_ERROR_UNRECOGNIZED_FORMAT = 300,
    WEB_IMAGE_ERROR_DECODING = 301,
    WEB_IMAGE_ERROR_ENCODING = 302,
    WEB_IMAGE_ERROR_TOO_MANY_PIXELS = 303,
    WEB_IMAGE_ERROR_INVALID_SIDE = 304,
    WEB_IMAGE_ERROR_NO_MEMORY = 305,
    WEB_IMAGE_ERROR_TOO_MANY_FRAMES = 306,
    WEB_IMAGE_ERROR_ANIMATION_TOO_LARGE = 307,
    WEB_IMAGE_ERROR_TOO_MANY_SCANS = 308,
    WEB_IMAGE_ERROR_TOO_MUCH_TIME = 309,
    WEB_IMAGE_ERROR_METADATA_TOO_LARGE = 310,
    WEB_IMAGE_ERROR_INVALID_FRAMES = 311,
    WEB_IMAGE_ERROR_TOO_MUCH_MEMORY = 312,
    WEB_IMAGE_ERROR_NO_PAGE = 313,
    WEB_IMAGE_ERROR_PROCESSING = 320,
    WEB_IMAGE_ERROR_DRAWING = 322,
    WEB_IMAGE_ERROR_ISOLATION = 330,
    WEB_IMAGE_ERROR_NO_DECODER_PROCESS = 331,
    WEB_IMAGE_ERROR_NOT_IN_CACHE = 400,
    WEB_IMAGE_ERROR_DISK_CACHE = 401,
    WEB_IMAGE_ERROR_ARCHIVING = 402,
    WEB_IMAGE_ERROR_UNARCHIVING = 403,
} WebImageError;

/**
 * WEB_IMAGE_ERROR:
 *
 * The domain of errors of this library.
 *
 * Since: 0.2
 */
#define WEB_IMAGE_ERROR (web_image_error_quark())
GQuark web_image_error_quark(void);

int web_image_error_get_http_status(const GError *error);
const char *web_image_error_get_uri(const GError *error);
const char *web_image_error_get_content_type(const GError *error);

#define WEB_IMAGE_TYPE_ERROR (web_image_error_get_type())
GType web_image_error_get_type(void);

G_END_DECLS
