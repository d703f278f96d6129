#pragma once

#include <webimage/webimage-request.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_SESSION (web_image_session_get_type())
G_DECLARE_FINAL_TYPE(WebImageSession, web_image_session, WEB_IMAGE, SESSION, GObject)

WebImageSession *web_image_session_get_default(void);
void web_image_session_set_default(WebImageSession *session);
WebImageSession *web_image_session_new(void);
WebImageSession *web_image_session_new_full(
    const char *cache_directory, guint64 disk_limit, guint64 memory_limit, const char *user_agent,
    const char *shared_cache, WebImagePolicy policy);

const char *web_image_session_get_cache_directory(WebImageSession *self);
guint64 web_image_session_get_disk_limit(WebImageSession *self);
guint64 web_image_session_get_memory_limit(WebImageSession *self);
void web_image_session_set_memory_limit(WebImageSession *self, guint64 limit);
const char *web_image_session_get_user_agent(WebImageSession *self);
const char *web_image_session_get_shared_cache(WebImageSession *self);
WebImagePolicy web_image_session_get_policy(WebImageSession *self);
const char *web_image_session_get_proxy(WebImageSession *self);
void web_image_session_set_proxy(WebImageSession *self, const char *proxy);
const char *web_image_session_get_certificate_file(WebImageSession *self);
void web_image_session_set_certificate_file(WebImageSession *self, const char *path);
guint web_image_session_get_max_connections(WebImageSession *self);
void web_image_session_set_max_connections(WebImageSession *self, guint count);
guint web_image_session_get_max_connections_per_host(WebImageSession *self);
void web_image_session_set_max_connections_per_host(WebImageSession *self, guint count);
guint web_image_session_get_max_megapixels(WebImageSession *self);
WebImageLowDataMode web_image_session_get_low_data_mode(WebImageSession *self);
void web_image_session_set_low_data_mode(WebImageSession *self, WebImageLowDataMode mode);

void web_image_session_load_async(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data);
GdkTexture *web_image_session_load_finish(WebImageSession *self, GAsyncResult *result, GError **error);
GdkTexture *web_image_session_load(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GError **error);

void web_image_session_load_bytes_async(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data);
GBytes *web_image_session_load_bytes_finish(WebImageSession *self, GAsyncResult *result, GError **error);

void web_image_session_load_file_async(
    WebImageSession *self, WebImageRequest *request, const char *format, GCancellable *cancellable,
    GAsyncReadyCallback callback, gpointer user_data);
GFile *web_image_session_load_file_finish(WebImageSession *self, GAsyncResult *result, GError **error);

void web_image_session_prefetch_async(
    WebImageSession *self, WebImageRequest **requests, gsize n_requests, GCancellable *cancellable,
    GAsyncReadyCallback callback, gpointer user_data);
gssize web_image_session_prefetch_finish(WebImageSession *self, GAsyncResult *result, GError **error);

GdkTexture *web_image_session_get_cached(WebImageSession *self, WebImageRequest *request);

void web_image_session_remove_async(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data);
gboolean web_image_session_remove_finish(WebImageSession *self, GAsyncResult *result, GError **error);

void web_image_session_clear_async(
    WebImageSession *self, gboolean memory, gboolean disk, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data);
gboolean web_image_session_clear_finish(WebImageSession *self, GAsyncResult *result, GError **error);

void web_image_session_get_statistics_async(
    WebImageSession *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GVariant *web_image_session_get_statistics_finish(WebImageSession *self, GAsyncResult *result, GError **error);

G_END_DECLS
