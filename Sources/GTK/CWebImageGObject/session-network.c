#include "session-private.h"

// How a session reaches servers. The downloader is made with the first use of the session.

// Whether an option can still be set.
static gboolean web_image_session_is_unused(WebImageSession *self) {
    if (g_atomic_pointer_get(&self->handle) == 0) return TRUE;
    g_warning("The session is in use: set its options before its first load");
    return FALSE;
}

/**
 * web_image_session_get_proxy:
 * @self: a session
 *
 * Returns the proxy for http and https.
 *
 * Returns: (nullable): the address; %NULL for that of the environment
 *
 * Since: 0.3
 */
const char *web_image_session_get_proxy(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), NULL);
    return self->proxy;
}

/**
 * web_image_session_set_proxy:
 * @self: a session
 * @proxy: (nullable): the address; %NULL for that of the environment, `direct://` for none
 *
 * Sets the proxy for http and https. A session that was used already logs a warning, and stays as it is.
 *
 * Since: 0.3
 */
void web_image_session_set_proxy(WebImageSession *self, const char *proxy) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    if (g_strcmp0(proxy, self->proxy) == 0 || !web_image_session_is_unused(self)) return;
    g_free(self->proxy);
    self->proxy = g_strdup(proxy);
    g_object_notify_by_pspec(G_OBJECT(self), web_image_session_properties[SESSION_PROXY]);
}

/**
 * web_image_session_get_certificate_file:
 * @self: a session
 *
 * Returns the file with the authorities that are trusted.
 *
 * Returns: (type filename) (nullable): a path; %NULL for those of the system
 *
 * Since: 0.3
 */
const char *web_image_session_get_certificate_file(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), NULL);
    return self->certificate_file;
}

/**
 * web_image_session_set_certificate_file:
 * @self: a session
 * @path: (type filename) (nullable): a path; %NULL for those of the system
 *
 * Sets the file with the authorities that are trusted. A session that was used already logs a warning, and stays as it is.
 *
 * Since: 0.3
 */
void web_image_session_set_certificate_file(WebImageSession *self, const char *path) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    if (g_strcmp0(path, self->certificate_file) == 0 || !web_image_session_is_unused(self)) return;
    g_free(self->certificate_file);
    self->certificate_file = g_strdup(path);
    g_object_notify_by_pspec(G_OBJECT(self), web_image_session_properties[SESSION_CERTIFICATE_FILE]);
}

/**
 * web_image_session_get_max_connections:
 * @self: a session
 *
 * Returns how many images load from servers at once.
 *
 * Returns: the number; 0 for the default
 *
 * Since: 0.3
 */
guint web_image_session_get_max_connections(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), 0);
    return self->max_connections;
}

/**
 * web_image_session_set_max_connections:
 * @self: a session
 * @count: the number; 0 for the default
 *
 * Sets how many images load from servers at once. A session that was used already logs a warning, and stays as it is.
 *
 * Since: 0.3
 */
void web_image_session_set_max_connections(WebImageSession *self, guint count) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    if (count == self->max_connections || !web_image_session_is_unused(self)) return;
    self->max_connections = count;
    g_object_notify_by_pspec(G_OBJECT(self), web_image_session_properties[SESSION_MAX_CONNECTIONS]);
}

/**
 * web_image_session_get_max_connections_per_host:
 * @self: a session
 *
 * Returns how many images load from one server at once.
 *
 * Returns: the number; 0 for the default
 *
 * Since: 0.3
 */
guint web_image_session_get_max_connections_per_host(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), 0);
    return self->max_connections_per_host;
}

/**
 * web_image_session_set_max_connections_per_host:
 * @self: a session
 * @count: the number; 0 for the default
 *
 * Sets how many images load from one server at once. A session that was used already logs a warning, and stays as it is.
 *
 * Since: 0.3
 */
void web_image_session_set_max_connections_per_host(WebImageSession *self, guint count) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    if (count == self->max_connections_per_host || !web_image_session_is_unused(self)) return;
    self->max_connections_per_host = count;
    g_object_notify_by_pspec(G_OBJECT(self), web_image_session_properties[SESSION_MAX_CONNECTIONS_PER_HOST]);
}

/**
 * web_image_session_get_low_data_mode:
 * @self: a session
 *
 * Returns when the session saves data.
 *
 * Returns: the mode
 *
 * Since: 0.3
 */
WebImageLowDataMode web_image_session_get_low_data_mode(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), WEB_IMAGE_LOW_DATA_MODE_AUTOMATIC);
    return self->low_data_mode;
}

/**
 * web_image_session_set_low_data_mode:
 * @self: a session
 * @mode: the mode
 *
 * Sets when the session saves data, at any time.
 *
 * Since: 0.3
 */
void web_image_session_set_low_data_mode(WebImageSession *self, WebImageLowDataMode mode) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    if (mode == self->low_data_mode) return;
    self->low_data_mode = mode;
    if (g_atomic_pointer_get(&self->handle) != 0) {
        webimage_bridge_session_set_low_data_mode(web_image_session_get_handle(self), mode);
    }
    g_object_notify_by_pspec(G_OBJECT(self), web_image_session_properties[SESSION_LOW_DATA_MODE]);
}
