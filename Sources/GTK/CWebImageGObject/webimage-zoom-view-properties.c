#include <webimage/webimage-zoom-view.h>

// A function for each property of a zoom view.

/**
 * web_image_zoom_view_get_zoom:
 * @self: a view
 *
 * Returns the pixels of the screen for a pixel of the image.
 *
 * Returns: the zoom: 1 is 100 %
 *
 * Since: 0.3
 */
double web_image_zoom_view_get_zoom(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), 0);
    double value = 0;
    g_object_get(self, "zoom", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_zoom:
 * @self: a view
 * @zoom: the zoom: 1 is 100 %
 *
 * Sets the pixels of the screen for a pixel of the image.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_zoom(WebImageZoomView *self, double zoom) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "zoom", zoom, NULL);
}

/**
 * web_image_zoom_view_get_zoom_mode:
 * @self: a view
 *
 * Returns whether the image follows the size of the widget.
 *
 * Returns: the mode
 *
 * Since: 0.3
 */
WebImageZoomMode web_image_zoom_view_get_zoom_mode(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), WEB_IMAGE_ZOOM_MODE_FIT);
    WebImageZoomMode value = WEB_IMAGE_ZOOM_MODE_FIT;
    g_object_get(self, "zoom-mode", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_zoom_mode:
 * @self: a view
 * @mode: the mode
 *
 * Sets whether the image follows the size of the widget.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_zoom_mode(WebImageZoomView *self, WebImageZoomMode mode) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "zoom-mode", mode, NULL);
}

/**
 * web_image_zoom_view_get_quarter_turns:
 * @self: a view
 *
 * Returns by how many clockwise quarter turns the image is rotated.
 *
 * Returns: 0 to 3
 *
 * Since: 0.3
 */
int web_image_zoom_view_get_quarter_turns(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), 0);
    int value = 0;
    g_object_get(self, "quarter-turns", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_quarter_turns:
 * @self: a view
 * @turns: 0 to 3
 *
 * Sets by how many clockwise quarter turns the image is rotated.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_quarter_turns(WebImageZoomView *self, int turns) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "quarter-turns", turns, NULL);
}

/**
 * web_image_zoom_view_get_initial_mode:
 * @self: a view
 *
 * Returns how a new image is shown.
 *
 * Returns: the mode
 *
 * Since: 0.3
 */
WebImageZoomMode web_image_zoom_view_get_initial_mode(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), WEB_IMAGE_ZOOM_MODE_FIT);
    WebImageZoomMode value = WEB_IMAGE_ZOOM_MODE_FIT;
    g_object_get(self, "initial-mode", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_initial_mode:
 * @self: a view
 * @mode: the mode
 *
 * Sets how a new image is shown.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_initial_mode(WebImageZoomView *self, WebImageZoomMode mode) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "initial-mode", mode, NULL);
}

/**
 * web_image_zoom_view_get_minimum_zoom:
 * @self: a view
 *
 * Returns the smallest zoom.
 *
 * Returns: the zoom; 0 for that at which the whole image is visible
 *
 * Since: 0.3
 */
double web_image_zoom_view_get_minimum_zoom(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), 0);
    double value = 0;
    g_object_get(self, "minimum-zoom", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_minimum_zoom:
 * @self: a view
 * @zoom: the zoom; 0 for that at which the whole image is visible
 *
 * Sets the smallest zoom.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_minimum_zoom(WebImageZoomView *self, double zoom) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "minimum-zoom", zoom, NULL);
}

/**
 * web_image_zoom_view_get_maximum_zoom:
 * @self: a view
 *
 * Returns the largest zoom.
 *
 * Returns: the zoom
 *
 * Since: 0.3
 */
double web_image_zoom_view_get_maximum_zoom(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), 0);
    double value = 0;
    g_object_get(self, "maximum-zoom", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_maximum_zoom:
 * @self: a view
 * @zoom: the zoom
 *
 * Sets the largest zoom.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_maximum_zoom(WebImageZoomView *self, double zoom) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "maximum-zoom", zoom, NULL);
}

/**
 * web_image_zoom_view_get_memory_limit:
 * @self: a view
 *
 * Returns the maximum memory for the pixels of an image that is zoomed in.
 *
 * Returns: the limit in bytes
 *
 * Since: 0.3
 */
guint64 web_image_zoom_view_get_memory_limit(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), 0);
    guint64 value = 0;
    g_object_get(self, "memory-limit", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_memory_limit:
 * @self: a view
 * @limit: the limit in bytes
 *
 * Sets the maximum memory for the pixels of an image that is zoomed in.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_memory_limit(WebImageZoomView *self, guint64 limit) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "memory-limit", limit, NULL);
}

/**
 * web_image_zoom_view_get_handle_keys:
 * @self: a view
 *
 * Returns whether keys zoom and move the image.
 *
 * Returns: %TRUE if they do
 *
 * Since: 0.3
 */
gboolean web_image_zoom_view_get_handle_keys(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), FALSE);
    gboolean value = FALSE;
    g_object_get(self, "handle-keys", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_handle_keys:
 * @self: a view
 * @handle_keys: %TRUE if they do
 *
 * Sets whether keys zoom and move the image.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_handle_keys(WebImageZoomView *self, gboolean handle_keys) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "handle-keys", handle_keys, NULL);
}

/**
 * web_image_zoom_view_get_wheel_turns_pages:
 * @self: a view
 *
 * Returns whether the wheel emits [signal@ZoomView::turn-page] instead of zooming.
 *
 * Returns: %TRUE if it does
 *
 * Since: 0.3
 */
gboolean web_image_zoom_view_get_wheel_turns_pages(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), FALSE);
    gboolean value = FALSE;
    g_object_get(self, "wheel-turns-pages", &value, NULL);
    return value;
}

/**
 * web_image_zoom_view_set_wheel_turns_pages:
 * @self: a view
 * @turns_pages: %TRUE if it does
 *
 * Sets whether the wheel emits [signal@ZoomView::turn-page] instead of zooming.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_wheel_turns_pages(WebImageZoomView *self, gboolean turns_pages) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "wheel-turns-pages", turns_pages, NULL);
}

/**
 * web_image_zoom_view_set_overlay:
 * @self: a view
 * @overlay: (nullable): a widget
 *
 * Sets the widget over the whole view.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_overlay(WebImageZoomView *self, GtkWidget *overlay) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "overlay", overlay, NULL);
}

/**
 * web_image_zoom_view_set_overlay_paintable:
 * @self: a view
 * @paintable: (nullable): a paintable
 *
 * Sets what is drawn over the image.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_overlay_paintable(WebImageZoomView *self, GdkPaintable *paintable) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "overlay-paintable", paintable, NULL);
}

/**
 * web_image_zoom_view_set_alternative_text:
 * @self: a view
 * @text: (nullable): the label
 *
 * Sets the label of the image for assistive technologies.
 *
 * Since: 0.3
 */
void web_image_zoom_view_set_alternative_text(WebImageZoomView *self, const char *text) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_object_set(self, "alternative-text", text, NULL);
}
