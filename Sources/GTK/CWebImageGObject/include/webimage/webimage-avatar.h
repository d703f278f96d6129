#pragma once

#include <webimage/webimage-picture.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_AVATAR (web_image_avatar_get_type())
G_DECLARE_FINAL_TYPE(WebImageAvatar, web_image_avatar, WEB_IMAGE, AVATAR, GtkWidget)

GtkWidget *web_image_avatar_new(int size, const char *text);
GdkPaintable *web_image_avatar_create_initials(const char *text);

const char *web_image_avatar_get_text(WebImageAvatar *self);
void web_image_avatar_set_text(WebImageAvatar *self, const char *text);
int web_image_avatar_get_size(WebImageAvatar *self);
void web_image_avatar_set_size(WebImageAvatar *self, int size);
const char *web_image_avatar_get_uri(WebImageAvatar *self);
void web_image_avatar_set_uri(WebImageAvatar *self, const char *uri);
WebImagePicture *web_image_avatar_get_picture(WebImageAvatar *self);

G_END_DECLS
