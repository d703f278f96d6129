#include "view-private.h"

// What a view tells about its image.

/**
 * web_image_view_get_loading:
 * @self: a view
 *
 * Returns whether the image is being loaded.
 *
 * Returns: %TRUE during a load
 *
 * Since: 0.3
 */
gboolean web_image_view_get_loading(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), FALSE);
    gboolean loading = FALSE;
    g_object_get(self, "loading", &loading, NULL);
    return loading;
}

/**
 * web_image_view_get_progress:
 * @self: a view
 *
 * Returns how much of the image has arrived.
 *
 * Returns: from 0 to 1; 0 while the length is unknown
 *
 * Since: 0.3
 */
double web_image_view_get_progress(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), 0);
    double progress = 0;
    g_object_get(self, "progress", &progress, NULL);
    return progress;
}

/**
 * web_image_view_dup_error:
 * @self: a view
 *
 * Returns why the image could not be loaded.
 *
 * Returns: (transfer full) (nullable): an error; %NULL if the load has not failed
 *
 * Since: 0.3
 */
GError *web_image_view_dup_error(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    GError *error = NULL;
    g_object_get(self, "error", &error, NULL);
    return error;
}

/**
 * web_image_view_get_image_width:
 * @self: a view
 *
 * Returns the width of the image on display.
 *
 * Returns: the width in pixels; 0 without an image
 *
 * Since: 0.3
 */
int web_image_view_get_image_width(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), 0);
    int image_width = 0;
    g_object_get(self, "image-width", &image_width, NULL);
    return image_width;
}

/**
 * web_image_view_get_image_height:
 * @self: a view
 *
 * Returns the height of the image on display.
 *
 * Returns: the height in pixels; 0 without an image
 *
 * Since: 0.3
 */
int web_image_view_get_image_height(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), 0);
    int image_height = 0;
    g_object_get(self, "image-height", &image_height, NULL);
    return image_height;
}

/**
 * web_image_view_get_http_status:
 * @self: a view
 *
 * Returns the status of the response that the image came with, or that the load has failed with.
 *
 * Returns: the status; 0 if the image did not come over HTTP
 *
 * Since: 0.3
 */
int web_image_view_get_http_status(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), 0);
    int http_status = 0;
    g_object_get(self, "http-status", &http_status, NULL);
    return http_status;
}

/**
 * web_image_view_dup_final_uri:
 * @self: a view
 *
 * Returns the address of the image on display after redirects.
 *
 * Returns: (transfer full) (nullable): the address
 *
 * Since: 0.3
 */
char *web_image_view_dup_final_uri(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    char *final_uri = NULL;
    g_object_get(self, "final-uri", &final_uri, NULL);
    return final_uri;
}

/**
 * web_image_view_dup_content_type:
 * @self: a view
 *
 * Returns the type that the server has declared for the image on display.
 *
 * Returns: (transfer full) (nullable): a type such as `image/png`
 *
 * Since: 0.3
 */
char *web_image_view_dup_content_type(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    char *content_type = NULL;
    g_object_get(self, "content-type", &content_type, NULL);
    return content_type;
}

/**
 * web_image_view_get_origin:
 * @self: a view
 *
 * Returns where the image on display came from.
 *
 * Returns: the origin
 *
 * Since: 0.3
 */
WebImageOrigin web_image_view_get_origin(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), WEB_IMAGE_ORIGIN_NONE);
    WebImageOrigin origin = WEB_IMAGE_ORIGIN_NONE;
    g_object_get(self, "origin", &origin, NULL);
    return origin;
}

/**
 * web_image_view_dup_paintable:
 * @self: a view
 *
 * Returns a texture of what is on display.
 *
 * Returns: (transfer full) (nullable): a texture; %NULL without an image
 *
 * Since: 0.3
 */
GdkPaintable *web_image_view_dup_paintable(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    GdkPaintable *paintable = NULL;
    g_object_get(self, "paintable", &paintable, NULL);
    return paintable;
}
