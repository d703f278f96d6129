#include "view-private.h"
#include <webimage/webimage-paintable.h>

// What a paintable has besides the properties of all views.

/**
 * web_image_paintable_get_width:
 * @self: a paintable
 *
 * Returns the width to decode at.
 *
 * Returns: the width in pixels; 0 for no limit
 *
 * Since: 0.3
 */
int web_image_paintable_get_width(WebImagePaintable *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PAINTABLE(self), 0);
    ImageSlot *slot = image_slot_of(WEB_IMAGE_VIEW(self));
    return slot->request == NULL ? 0 : web_image_request_get_width(slot->request);
}

/**
 * web_image_paintable_set_width:
 * @self: a paintable
 * @width: the width in pixels; 0 for no limit
 *
 * Sets the width to decode at.
 *
 * Since: 0.3
 */
void web_image_paintable_set_width(WebImagePaintable *self, int width) {
    g_return_if_fail(WEB_IMAGE_IS_PAINTABLE(self));
    g_object_set(self, "width", width, NULL);
}

/**
 * web_image_paintable_get_height:
 * @self: a paintable
 *
 * Returns the height to decode at.
 *
 * Returns: the height in pixels; 0 for no limit
 *
 * Since: 0.3
 */
int web_image_paintable_get_height(WebImagePaintable *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PAINTABLE(self), 0);
    ImageSlot *slot = image_slot_of(WEB_IMAGE_VIEW(self));
    return slot->request == NULL ? 0 : web_image_request_get_height(slot->request);
}

/**
 * web_image_paintable_set_height:
 * @self: a paintable
 * @height: the height in pixels; 0 for no limit
 *
 * Sets the height to decode at.
 *
 * Since: 0.3
 */
void web_image_paintable_set_height(WebImagePaintable *self, int height) {
    g_return_if_fail(WEB_IMAGE_IS_PAINTABLE(self));
    g_object_set(self, "height", height, NULL);
}

/**
 * web_image_paintable_get_scale_factor:
 * @self: a paintable
 *
 * Returns how many pixels the width and the height to decode at have for each point.
 *
 * Returns: the factor; 0 for that of the sharpest monitor
 *
 * Since: 0.3
 */
int web_image_paintable_get_scale_factor(WebImagePaintable *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PAINTABLE(self), 1);
    int scale_factor = 1;
    g_object_get(self, "scale-factor", &scale_factor, NULL);
    return scale_factor;
}

/**
 * web_image_paintable_set_scale_factor:
 * @self: a paintable
 * @factor: the factor; 0 for that of the sharpest monitor
 *
 * Sets how many pixels the width and the height to decode at have for each point.
 *
 * Since: 0.3
 */
void web_image_paintable_set_scale_factor(WebImagePaintable *self, int factor) {
    g_return_if_fail(WEB_IMAGE_IS_PAINTABLE(self));
    g_object_set(self, "scale-factor", factor, NULL);
}

/**
 * web_image_paintable_get_content_fit:
 * @self: a paintable
 *
 * Returns how the image fits the area in which it is drawn.
 *
 * Returns: the fit
 *
 * Since: 0.3
 */
GtkContentFit web_image_paintable_get_content_fit(WebImagePaintable *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PAINTABLE(self), GTK_CONTENT_FIT_FILL);
    return image_slot_of(WEB_IMAGE_VIEW(self))->display.fit;
}

/**
 * web_image_paintable_set_content_fit:
 * @self: a paintable
 * @fit: the fit
 *
 * Sets how the image fits the area in which it is drawn.
 *
 * Since: 0.3
 */
void web_image_paintable_set_content_fit(WebImagePaintable *self, GtkContentFit fit) {
    g_return_if_fail(WEB_IMAGE_IS_PAINTABLE(self));
    g_object_set(self, "content-fit", fit, NULL);
}
