#pragma once

#include <webimage/webimage-session.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_PICTURE (web_image_picture_get_type())
G_DECLARE_FINAL_TYPE(WebImagePicture, web_image_picture, WEB_IMAGE, PICTURE, GtkWidget)

GtkWidget *web_image_picture_new(void);
GtkWidget *web_image_picture_new_for_uri(const char *uri);

const char *web_image_picture_get_uri(WebImagePicture *self);
void web_image_picture_set_uri(WebImagePicture *self, const char *uri);
GdkPaintable *web_image_picture_get_placeholder(WebImagePicture *self);
void web_image_picture_set_placeholder(WebImagePicture *self, GdkPaintable *placeholder);
GtkContentFit web_image_picture_get_content_fit(WebImagePicture *self);
void web_image_picture_set_content_fit(WebImagePicture *self, GtkContentFit fit);
gboolean web_image_picture_get_loading(WebImagePicture *self);
double web_image_picture_get_progress(WebImagePicture *self);
GError *web_image_picture_dup_error(WebImagePicture *self);

void web_image_picture_reload(WebImagePicture *self);
void web_image_picture_cancel(WebImagePicture *self);

G_END_DECLS
