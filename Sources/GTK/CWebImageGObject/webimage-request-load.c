#include "request-private.h"

// How a request is loaded.

/**
 * web_image_request_get_headers:
 * @self: a request
 *
 * Returns the header fields of the request.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): the fields
 *
 * Since: 0.2
 */
const char *const *web_image_request_get_headers(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return (const char *const *)self->headers;
}

// Returns names and values by turns. A name ends at the colon.
static GStrv web_image_request_parse_headers(const char *const *headers) {
    GStrvBuilder *fields = g_strv_builder_new();
    for (; *headers != NULL; headers++) {
        const char *colon = strchr(*headers, ':');
        if (colon == NULL) {
            g_warning("'%s' is not a header field: it has no colon", *headers);
            continue;
        }
        char *name = g_strstrip(g_strndup(*headers, (gsize)(colon - *headers)));
        char *value = g_strstrip(g_strdup(colon + 1));
        g_strv_builder_add_many(fields, name, value, NULL);
        g_free(name);
        g_free(value);
    }
    GStrv result = g_strv_builder_end(fields);
    g_strv_builder_unref(fields);
    return result;
}

/**
 * web_image_request_set_headers:
 * @self: a request
 * @headers: (nullable) (array zero-terminated=1): fields such as `Authorization: Bearer …`
 *
 * Sets the header fields of the request.
 *
 * Since: 0.2
 */
void web_image_request_set_headers(WebImageRequest *self, const char *const *headers) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    const char *const *old = (const char *const *)self->headers;
    if (headers == old || (headers != NULL && old != NULL && g_strv_equal(headers, old))) return;
    GStrv copy = g_strdupv((GStrv)headers);
    g_strfreev(self->headers);
    g_strfreev(self->fields);
    self->headers = copy;
    self->fields = copy == NULL ? NULL : web_image_request_parse_headers((const char *const *)copy);
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_HEADERS]);
}

/**
 * web_image_request_get_priority:
 * @self: a request
 *
 * Returns how urgent the load is.
 *
 * Returns: the priority
 *
 * Since: 0.2
 */
WebImagePriority web_image_request_get_priority(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), WEB_IMAGE_PRIORITY_NORMAL);
    return self->priority;
}

/**
 * web_image_request_set_priority:
 * @self: a request
 * @priority: the priority
 *
 * Sets how urgent the load is.
 *
 * Since: 0.2
 */
void web_image_request_set_priority(WebImageRequest *self, WebImagePriority priority) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    if (priority == self->priority) return;
    self->priority = priority;
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_PRIORITY]);
}

/**
 * web_image_request_get_cache_policy:
 * @self: a request
 *
 * Returns which of memory, disk and server may answer.
 *
 * Returns: the policy
 *
 * Since: 0.2
 */
WebImageCachePolicy web_image_request_get_cache_policy(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), WEB_IMAGE_CACHE_POLICY_CACHE_FIRST);
    return self->cache_policy;
}

/**
 * web_image_request_set_cache_policy:
 * @self: a request
 * @policy: the policy
 *
 * Sets which of memory, disk and server may answer.
 *
 * Since: 0.2
 */
void web_image_request_set_cache_policy(WebImageRequest *self, WebImageCachePolicy policy) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    if (policy == self->cache_policy) return;
    self->cache_policy = policy;
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_CACHE_POLICY]);
}

/**
 * web_image_request_get_low_data_uri:
 * @self: a request
 *
 * Returns the address of the same image with fewer bytes.
 *
 * Returns: (nullable): the address
 *
 * Since: 0.3
 */
const char *web_image_request_get_low_data_uri(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return self->low_data_uri;
}

/**
 * web_image_request_set_low_data_uri:
 * @self: a request
 * @uri: (nullable): the address
 *
 * Sets the address of the same image with fewer bytes.
 *
 * Since: 0.3
 */
void web_image_request_set_low_data_uri(WebImageRequest *self, const char *uri) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    if (g_strcmp0(uri, self->low_data_uri) == 0) return;
    g_free(self->low_data_uri);
    self->low_data_uri = g_strdup(uri);
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_LOW_DATA_URI]);
}

/**
 * web_image_request_set_focus:
 * @self: a request
 * @x: from -1 at the left edge to 1 at the right edge
 * @y: from -1 at the bottom edge to 1 at the top edge
 *
 * Sets the point of the image that stays visible where `COVER` cuts parts off, in the coordinates of Mastodon's `meta.focus`. Values beyond
 * the edges are those of the edges.
 *
 * Since: 0.3
 */
void web_image_request_set_focus(WebImageRequest *self, double x, double y) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    x = CLAMP(x, -1, 1);
    y = CLAMP(y, -1, 1);
    g_object_freeze_notify(G_OBJECT(self));
    if (x != self->focus_x) g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_FOCUS_X]);
    if (y != self->focus_y) g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_FOCUS_Y]);
    self->focus_x = x;
    self->focus_y = y;
    g_object_thaw_notify(G_OBJECT(self));
}

/**
 * web_image_request_get_focus_x:
 * @self: a request
 *
 * Returns the horizontal place of the point that stays visible where `COVER` cuts parts off.
 *
 * Returns: from -1 at the left edge to 1 at the right edge; 0 in the middle
 *
 * Since: 0.3
 */
double web_image_request_get_focus_x(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), 0);
    return self->focus_x;
}

/**
 * web_image_request_set_focus_x:
 * @self: a request
 * @x: from -1 at the left edge to 1 at the right edge; 0 in the middle
 *
 * Sets the horizontal place of the point that stays visible where `COVER` cuts parts off. See web_image_request_set_focus().
 *
 * Since: 0.3
 */
void web_image_request_set_focus_x(WebImageRequest *self, double x) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    web_image_request_set_focus(self, x, self->focus_y);
}

/**
 * web_image_request_get_focus_y:
 * @self: a request
 *
 * Returns the vertical place of the point that stays visible where `COVER` cuts parts off.
 *
 * Returns: from -1 at the bottom edge to 1 at the top edge; 0 in the middle
 *
 * Since: 0.3
 */
double web_image_request_get_focus_y(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), 0);
    return self->focus_y;
}

/**
 * web_image_request_set_focus_y:
 * @self: a request
 * @y: from -1 at the bottom edge to 1 at the top edge; 0 in the middle
 *
 * Sets the vertical place of the point that stays visible where `COVER` cuts parts off. See web_image_request_set_focus().
 *
 * Since: 0.3
 */
void web_image_request_set_focus_y(WebImageRequest *self, double y) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    web_image_request_set_focus(self, self->focus_x, y);
}
