#pragma once

#include "bridge.h"
#include <webimage/webimage-session.h>

// The handle is valid as long as the session, and is made with the first call, on any thread.
G_GNUC_INTERNAL WebImageBridgeSession *web_image_session_get_handle(WebImageSession *self);

struct _WebImageSession {
    GObject parent_instance;

    char *cache_directory, *user_agent, *shared_cache, *proxy, *certificate_file;
    guint max_connections, max_connections_per_host, max_megapixels;
    WebImageLowDataMode low_data_mode;
    guint64 disk_limit, memory_limit;
    WebImagePolicy policy;
    // A WebImageBridgeSession, which is made once; 0 before.
    gsize handle;
};

enum {
    SESSION_CACHE_DIRECTORY = 1,
    SESSION_DISK_LIMIT,
    SESSION_MEMORY_LIMIT,
    SESSION_USER_AGENT,
    SESSION_SHARED_CACHE,
    SESSION_POLICY,
    SESSION_PROXY,
    SESSION_CERTIFICATE_FILE,
    SESSION_MAX_CONNECTIONS,
    SESSION_MAX_CONNECTIONS_PER_HOST,
    SESSION_MAX_MEGAPIXELS,
    SESSION_LOW_DATA_MODE,
    SESSION_N_PROPERTIES,
};

G_GNUC_INTERNAL extern GParamSpec *web_image_session_properties[SESSION_N_PROPERTIES];

// Where the program caches images: a new text.
G_GNUC_INTERNAL char *web_image_session_default_directory(WebImagePolicy policy);

// Loads the file of an image for other programs and GdkPixbuf. The result is a GFile, whose data "webimage-content-type" is its MIME type.
G_GNUC_INTERNAL void web_image_session_load_icon_async(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data);
G_GNUC_INTERNAL GFile *web_image_session_load_icon_finish(WebImageSession *self, GAsyncResult *result, GError **error);
// Waits for it. On the main thread, it does not wait for a server or a handler.
G_GNUC_INTERNAL GFile *web_image_session_load_icon(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GError **error);
