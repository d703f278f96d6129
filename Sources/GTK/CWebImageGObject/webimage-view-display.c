#include "view-private.h"

// How a view shows its image.

/**
 * web_image_view_get_placeholder:
 * @self: a view
 *
 * Returns what is shown until the image is loaded.
 *
 * Returns: (transfer none) (nullable): a paintable
 *
 * Since: 0.3
 */
GdkPaintable *web_image_view_get_placeholder(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    return image_slot_of(self)->placeholder;
}

/**
 * web_image_view_set_placeholder:
 * @self: a view
 * @placeholder: (nullable): a paintable
 *
 * Sets what is shown until the image is loaded.
 *
 * Since: 0.3
 */
void web_image_view_set_placeholder(WebImageView *self, GdkPaintable *placeholder) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "placeholder", placeholder, NULL);
}

/**
 * web_image_view_get_blur_hash:
 * @self: a view
 *
 * Returns the BlurHash that is shown until the image is loaded.
 *
 * Returns: (nullable): the hash
 *
 * Since: 0.3
 */
const char *web_image_view_get_blur_hash(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    return image_slot_of(self)->blur_hash;
}

/**
 * web_image_view_set_blur_hash:
 * @self: a view
 * @hash: (nullable): the hash
 *
 * Sets the BlurHash that is shown until the image is loaded.
 *
 * Since: 0.3
 */
void web_image_view_set_blur_hash(WebImageView *self, const char *hash) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "blur-hash", hash, NULL);
}

/**
 * web_image_view_get_thumb_hash:
 * @self: a view
 *
 * Returns the ThumbHash that is shown until the image is loaded.
 *
 * Returns: (nullable): the hash in base64
 *
 * Since: 0.3
 */
const char *web_image_view_get_thumb_hash(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    return image_slot_of(self)->thumb_hash;
}

/**
 * web_image_view_set_thumb_hash:
 * @self: a view
 * @hash: (nullable): the hash in base64
 *
 * Sets the ThumbHash that is shown until the image is loaded.
 *
 * Since: 0.3
 */
void web_image_view_set_thumb_hash(WebImageView *self, const char *hash) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "thumb-hash", hash, NULL);
}

/**
 * web_image_view_get_placeholder_color:
 * @self: a view
 *
 * Returns the color that is shown until the image is loaded.
 *
 * Returns: (transfer none) (nullable): the color
 *
 * Since: 0.3
 */
const GdkRGBA *web_image_view_get_placeholder_color(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    return image_slot_of(self)->color;
}

/**
 * web_image_view_set_placeholder_color:
 * @self: a view
 * @color: (nullable): the color
 *
 * Sets the color that is shown until the image is loaded.
 *
 * Since: 0.3
 */
void web_image_view_set_placeholder_color(WebImageView *self, const GdkRGBA *color) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "placeholder-color", color, NULL);
}

/**
 * web_image_view_get_error_paintable:
 * @self: a view
 *
 * Returns what is shown if the load fails.
 *
 * Returns: (transfer none) (nullable): a paintable
 *
 * Since: 0.3
 */
GdkPaintable *web_image_view_get_error_paintable(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    return image_slot_of(self)->error_paintable;
}

/**
 * web_image_view_set_error_paintable:
 * @self: a view
 * @paintable: (nullable): a paintable
 *
 * Sets what is shown if the load fails.
 *
 * Since: 0.3
 */
void web_image_view_set_error_paintable(WebImageView *self, GdkPaintable *paintable) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "error-paintable", paintable, NULL);
}

/**
 * web_image_view_get_transition:
 * @self: a view
 *
 * Returns how an image replaces what is on display.
 *
 * Returns: the transition
 *
 * Since: 0.3
 */
WebImageTransition web_image_view_get_transition(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), WEB_IMAGE_TRANSITION_NONE);
    return image_slot_of(self)->display.transition;
}

/**
 * web_image_view_set_transition:
 * @self: a view
 * @transition: the transition
 *
 * Sets how an image replaces what is on display.
 *
 * Since: 0.3
 */
void web_image_view_set_transition(WebImageView *self, WebImageTransition transition) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "transition", transition, NULL);
}

/**
 * web_image_view_get_transition_duration:
 * @self: a view
 *
 * Returns how long a transition takes.
 *
 * Returns: the duration in milliseconds
 *
 * Since: 0.3
 */
guint web_image_view_get_transition_duration(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), 0);
    return image_slot_of(self)->display.transition_milliseconds;
}

/**
 * web_image_view_set_transition_duration:
 * @self: a view
 * @milliseconds: the duration in milliseconds
 *
 * Sets how long a transition takes.
 *
 * Since: 0.3
 */
void web_image_view_set_transition_duration(WebImageView *self, guint milliseconds) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "transition-duration", milliseconds, NULL);
}

/**
 * web_image_view_get_animate:
 * @self: a view
 *
 * Returns whether animations play.
 *
 * Returns: %TRUE if they play
 *
 * Since: 0.3
 */
gboolean web_image_view_get_animate(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), FALSE);
    return image_slot_of(self)->display.animate;
}

/**
 * web_image_view_set_animate:
 * @self: a view
 * @animate: whether animations play
 *
 * Sets whether animations play.
 *
 * Since: 0.3
 */
void web_image_view_set_animate(WebImageView *self, gboolean animate) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "animate", animate, NULL);
}

/**
 * web_image_view_get_focus_x:
 * @self: a view
 *
 * Returns the horizontal place of the point that stays visible where the image is cropped.
 *
 * Returns: from -1 at the left edge to 1 at the right edge; 0 in the middle
 *
 * Since: 0.3
 */
double web_image_view_get_focus_x(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), 0);
    return image_slot_of(self)->display.focus_x;
}

/**
 * web_image_view_set_focus_x:
 * @self: a view
 * @x: from -1 at the left edge to 1 at the right edge; 0 in the middle
 *
 * Sets the horizontal place of the point that stays visible where the image is cropped.
 *
 * Since: 0.3
 */
void web_image_view_set_focus_x(WebImageView *self, double x) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "focus-x", x, NULL);
}

/**
 * web_image_view_get_focus_y:
 * @self: a view
 *
 * Returns the vertical place of the point that stays visible where the image is cropped.
 *
 * Returns: from -1 at the bottom edge to 1 at the top edge; 0 in the middle
 *
 * Since: 0.3
 */
double web_image_view_get_focus_y(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), 0);
    return image_slot_of(self)->display.focus_y;
}

/**
 * web_image_view_set_focus_y:
 * @self: a view
 * @y: from -1 at the bottom edge to 1 at the top edge; 0 in the middle
 *
 * Sets the vertical place of the point that stays visible where the image is cropped.
 *
 * Since: 0.3
 */
void web_image_view_set_focus_y(WebImageView *self, double y) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "focus-y", y, NULL);
}
