#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/**
 * WebImageProcessor:
 *
 * Changes an image after it was decoded.
 *
 * A processor does not change, and may be used on any thread. Its result is cached in memory, under a key that contains
 * all its parameters. Distances are in points of the image: pixels, unless its name ends with `@2x`.
 *
 * Since: 0.2
 */
typedef struct _WebImageProcessor WebImageProcessor;

#define WEB_IMAGE_TYPE_PROCESSOR (web_image_processor_get_type())
GType web_image_processor_get_type(void);

WebImageProcessor *web_image_processor_new_resize(int width, int height, GtkContentFit fit);
WebImageProcessor *web_image_processor_new_fill(int width, int height);
WebImageProcessor *web_image_processor_new_rounded(double radius);
WebImageProcessor *web_image_processor_new_circle(void);
WebImageProcessor *web_image_processor_new_blur(double radius);
WebImageProcessor *web_image_processor_new_grayscale(void);
WebImageProcessor *web_image_processor_new_tint(const GdkRGBA *color);
WebImageProcessor *web_image_processor_new_chain(WebImageProcessor **processors, gsize n_processors);
WebImageProcessor *web_image_processor_new_from_string(const char *text, GError **error);

WebImageProcessor *web_image_processor_ref(WebImageProcessor *self);
void web_image_processor_unref(WebImageProcessor *self);
char *web_image_processor_to_string(WebImageProcessor *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(WebImageProcessor, web_image_processor_unref)

G_END_DECLS
