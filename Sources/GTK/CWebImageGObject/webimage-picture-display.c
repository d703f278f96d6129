#include "view-private.h"
#include <webimage/webimage-picture.h>

// What a picture has besides the properties of all views.

/**
 * web_image_picture_get_corner_radius:
 * @self: a picture
 *
 * Returns the radius of the corners of the image.
 *
 * Returns: the radius in points
 *
 * Since: 0.3
 */
double web_image_picture_get_corner_radius(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), 0);
    double corner_radius = 0;
    g_object_get(self, "corner-radius", &corner_radius, NULL);
    return corner_radius;
}

/**
 * web_image_picture_set_corner_radius:
 * @self: a picture
 * @radius: the radius in points
 *
 * Sets the radius of the corners of the image.
 *
 * Since: 0.3
 */
void web_image_picture_set_corner_radius(WebImagePicture *self, double radius) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    g_object_set(self, "corner-radius", radius, NULL);
}

/**
 * web_image_picture_get_circular:
 * @self: a picture
 *
 * Returns whether only the largest circle in the middle of the image is visible.
 *
 * Returns: %TRUE for a circle
 *
 * Since: 0.3
 */
gboolean web_image_picture_get_circular(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), FALSE);
    gboolean circular = FALSE;
    g_object_get(self, "circular", &circular, NULL);
    return circular;
}

/**
 * web_image_picture_set_circular:
 * @self: a picture
 * @circular: whether only a circle is visible
 *
 * Sets whether only the largest circle in the middle of the image is visible.
 *
 * Since: 0.3
 */
void web_image_picture_set_circular(WebImagePicture *self, gboolean circular) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    g_object_set(self, "circular", circular, NULL);
}

/**
 * web_image_picture_get_retry_on_click:
 * @self: a picture
 *
 * Returns whether a click or tap on the widget starts a failed load again.
 *
 * Returns: %TRUE if it does
 *
 * Since: 0.3
 */
gboolean web_image_picture_get_retry_on_click(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), FALSE);
    return image_slot_of(WEB_IMAGE_VIEW(self))->display.retry_on_click;
}

/**
 * web_image_picture_set_retry_on_click:
 * @self: a picture
 * @retry: whether it does
 *
 * Sets whether a click or tap on the widget starts a failed load again.
 *
 * Since: 0.3
 */
void web_image_picture_set_retry_on_click(WebImagePicture *self, gboolean retry) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    g_object_set(self, "retry-on-click", retry, NULL);
}

/**
 * web_image_picture_get_draggable:
 * @self: a picture
 *
 * Returns whether the mouse drags the image to other programs.
 *
 * Returns: %TRUE if it does
 *
 * Since: 0.3
 */
gboolean web_image_picture_get_draggable(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), FALSE);
    return image_slot_of(WEB_IMAGE_VIEW(self))->display.draggable;
}

/**
 * web_image_picture_set_draggable:
 * @self: a picture
 * @draggable: whether the mouse drags the image
 *
 * Sets whether the mouse drags the image to other programs.
 *
 * Since: 0.3
 */
void web_image_picture_set_draggable(WebImagePicture *self, gboolean draggable) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    g_object_set(self, "draggable", draggable, NULL);
}

/**
 * web_image_picture_get_decode_at_size:
 * @self: a picture
 *
 * Returns whether the image is decoded at the size of the widget.
 *
 * Returns: %TRUE if it is
 *
 * Since: 0.3
 */
gboolean web_image_picture_get_decode_at_size(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), FALSE);
    return image_slot_of(WEB_IMAGE_VIEW(self))->display.decode_at_size;
}

/**
 * web_image_picture_set_decode_at_size:
 * @self: a picture
 * @decode_at_size: whether it is
 *
 * Sets whether the image is decoded at the size of the widget.
 *
 * Since: 0.3
 */
void web_image_picture_set_decode_at_size(WebImagePicture *self, gboolean decode_at_size) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    g_object_set(self, "decode-at-size", decode_at_size, NULL);
}

/**
 * web_image_picture_get_lazy:
 * @self: a picture
 *
 * Returns whether the image loads only near the visible area.
 *
 * Returns: %TRUE if it does
 *
 * Since: 0.3
 */
gboolean web_image_picture_get_lazy(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), FALSE);
    gboolean lazy = FALSE;
    g_object_get(self, "lazy", &lazy, NULL);
    return lazy;
}

/**
 * web_image_picture_set_lazy:
 * @self: a picture
 * @lazy: whether it does
 *
 * Sets whether the image loads only near the visible area.
 *
 * Since: 0.3
 */
void web_image_picture_set_lazy(WebImagePicture *self, gboolean lazy) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    g_object_set(self, "lazy", lazy, NULL);
}
