#include "error-private.h"
#include "processor-private.h"

G_DEFINE_BOXED_TYPE(WebImageProcessor, web_image_processor, web_image_processor_ref, web_image_processor_unref)

/**
 * web_image_processor_new_resize: (constructor)
 * @width: the width in pixels; 0 if the height determines it
 * @height: the height in pixels; 0 if the width determines it
 * @fit: how the image fits the box: `CONTAIN` fits inside, `COVER` fills the box and cuts off what extends beyond it, `FILL`
 *   distorts the image, and `SCALE_DOWN` is `CONTAIN` without enlarging
 *
 * Makes a processor that resizes images.
 *
 * To decode an image at a smaller size, which is quicker, use [property@Request:width] and [property@Request:height].
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_resize(int width, int height, GtkContentFit fit) {
    return web_image_processor_of_handle(webimage_bridge_processor_resize(width, height, fit));
}

/**
 * web_image_processor_new_fill: (constructor)
 * @width: the width in pixels
 * @height: the height in pixels
 *
 * Makes a processor that fills a box, and cuts off what extends beyond it.
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_fill(int width, int height) {
    return web_image_processor_new_resize(width, height, GTK_CONTENT_FIT_COVER);
}

/**
 * web_image_processor_new_rounded: (constructor)
 * @radius: the radius of the corners
 *
 * Makes a processor that rounds corners.
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_rounded(double radius) {
    return web_image_processor_of_handle(webimage_bridge_processor_rounded(radius));
}

/**
 * web_image_processor_new_circle: (constructor)
 *
 * Makes a processor that crops images to a circle.
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_circle(void) {
    return web_image_processor_of_handle(webimage_bridge_processor_circle());
}

/**
 * web_image_processor_new_blur: (constructor)
 * @radius: the radius of the blur
 *
 * Makes a processor that blurs images.
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_blur(double radius) {
    return web_image_processor_of_handle(webimage_bridge_processor_blur(radius));
}

/**
 * web_image_processor_new_grayscale: (constructor)
 *
 * Makes a processor that removes colors.
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_grayscale(void) {
    return web_image_processor_of_handle(webimage_bridge_processor_grayscale());
}

/**
 * web_image_processor_new_tint: (constructor)
 * @color: the color
 *
 * Makes a processor that fills the opaque part of images with a color, as for icons.
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_tint(const GdkRGBA *color) {
    g_return_val_if_fail(color != NULL, NULL);
    return web_image_processor_of_handle(
        webimage_bridge_processor_tint(color->red, color->green, color->blue, color->alpha));
}

/**
 * web_image_processor_new_chain: (constructor)
 * @processors: (array length=n_processors) (transfer none): processors
 * @n_processors: the number of processors
 *
 * Makes a processor that applies others in this order.
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_chain(WebImageProcessor **processors, gsize n_processors) {
    g_return_val_if_fail(processors != NULL || n_processors == 0, NULL);
    return web_image_processor_of_handle(
        webimage_bridge_processor_chain((WebImageBridgeProcessor *const *)processors, n_processors));
}

/**
 * web_image_processor_new_from_string: (constructor)
 * @text: processors with commas between them
 * @error: the place of an error
 *
 * Makes a processor from a text, such as `fill:300x300,rounded:12,blur:4`.
 *
 * | step | value |
 * | --- | --- |
 * | `resize:320x240` | a size in pixels; `320x` and `x240` keep the proportions. `:contain`, `:cover`, `:fill` or `:scale-down` may follow |
 * | `fill:300x300` | a size in pixels, or with a focal point `fill:300x300:-0.4:0.6` |
 * | `rounded:12` | the radius of the corners |
 * | `circle` | none |
 * | `blur:4` | the radius of the blur |
 * | `grayscale` | none |
 * | `tint:#3584e4` | a color, as gdk_rgba_parse() takes it, without commas |
 *
 * The steps apply in this order, as those of [ctor@Processor.new_chain]. White space around them is ignored. A text has at most
 * 1024 bytes and 16 steps, and numbers are at most 65535. An empty text makes a processor that changes nothing.
 *
 * Returns: (transfer full): a processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_new_from_string(const char *text, GError **error) {
    g_return_val_if_fail(text != NULL, NULL);
    char *message = NULL;
    WebImageBridgeProcessor *handle = webimage_bridge_processor_parse(text, &message);
    if (handle == NULL) g_set_error_literal(error, WEB_IMAGE_ERROR, WEB_IMAGE_ERROR_PROCESSING, message);
    g_free(message);
    return web_image_processor_of_handle(handle);
}

/**
 * web_image_processor_ref:
 * @self: a processor
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @self
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_processor_ref(WebImageProcessor *self) {
    g_return_val_if_fail(self != NULL, NULL);
    webimage_bridge_retain(self);
    return self;
}

/**
 * web_image_processor_unref:
 * @self: (transfer full): a processor
 *
 * Releases a reference.
 *
 * Since: 0.2
 */
void web_image_processor_unref(WebImageProcessor *self) {
    g_return_if_fail(self != NULL);
    webimage_bridge_release(self);
}

/**
 * web_image_processor_to_string:
 * @self: a processor
 *
 * Describes the processor with all its parameters, as in keys of the cache.
 *
 * Returns: (transfer full): a text
 *
 * Since: 0.2
 */
char *web_image_processor_to_string(WebImageProcessor *self) {
    g_return_val_if_fail(self != NULL, NULL);
    return webimage_bridge_processor_text(web_image_processor_get_handle(self));
}
