#pragma once

#include <webimage/webimage-session.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_PAINTABLE (web_image_paintable_get_type())
G_DECLARE_FINAL_TYPE(WebImagePaintable, web_image_paintable, WEB_IMAGE, PAINTABLE, GObject)

WebImagePaintable *web_image_paintable_new(const char *uri);

const char *web_image_paintable_get_uri(WebImagePaintable *self);
void web_image_paintable_set_uri(WebImagePaintable *self, const char *uri);
gboolean web_image_paintable_get_loading(WebImagePaintable *self);
GError *web_image_paintable_dup_error(WebImagePaintable *self);

void web_image_paintable_reload(WebImagePaintable *self);
void web_image_paintable_cancel(WebImagePaintable *self);

G_END_DECLS
