#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_LOAD (web_image_load_get_type())
G_DECLARE_FINAL_TYPE(WebImageLoad, web_image_load, WEB_IMAGE, LOAD, GObject)

const char *web_image_load_get_uri(WebImageLoad *self);
GCancellable *web_image_load_get_cancellable(WebImageLoad *self);
gboolean web_image_load_get_cacheable(WebImageLoad *self);
void web_image_load_set_cacheable(WebImageLoad *self, gboolean cacheable);

void web_image_load_return_bytes(WebImageLoad *self, GBytes *bytes, const char *content_type);
void web_image_load_return_error(WebImageLoad *self, const GError *error);

G_END_DECLS
