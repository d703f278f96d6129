#pragma once

#include <webimage/webimage-view.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_PAINTABLE (web_image_paintable_get_type())
G_DECLARE_FINAL_TYPE(WebImagePaintable, web_image_paintable, WEB_IMAGE, PAINTABLE, GObject)

WebImagePaintable *web_image_paintable_new(const char *uri);

int web_image_paintable_get_width(WebImagePaintable *self);
void web_image_paintable_set_width(WebImagePaintable *self, int width);
int web_image_paintable_get_height(WebImagePaintable *self);
void web_image_paintable_set_height(WebImagePaintable *self, int height);
int web_image_paintable_get_scale_factor(WebImagePaintable *self);
void web_image_paintable_set_scale_factor(WebImagePaintable *self, int factor);
GtkContentFit web_image_paintable_get_content_fit(WebImagePaintable *self);
void web_image_paintable_set_content_fit(WebImagePaintable *self, GtkContentFit fit);

G_END_DECLS
