#pragma once

#include <webimage/webimage-view.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_PICTURE (web_image_picture_get_type())
G_DECLARE_FINAL_TYPE(WebImagePicture, web_image_picture, WEB_IMAGE, PICTURE, GtkWidget)

GtkWidget *web_image_picture_new(void);
GtkWidget *web_image_picture_new_for_uri(const char *uri);

GtkContentFit web_image_picture_get_content_fit(WebImagePicture *self);
void web_image_picture_set_content_fit(WebImagePicture *self, GtkContentFit fit);

gboolean web_image_picture_get_decode_at_size(WebImagePicture *self);
void web_image_picture_set_decode_at_size(WebImagePicture *self, gboolean decode_at_size);
gboolean web_image_picture_get_lazy(WebImagePicture *self);
void web_image_picture_set_lazy(WebImagePicture *self, gboolean lazy);
gboolean web_image_picture_get_draggable(WebImagePicture *self);
void web_image_picture_set_draggable(WebImagePicture *self, gboolean draggable);
double web_image_picture_get_corner_radius(WebImagePicture *self);
void web_image_picture_set_corner_radius(WebImagePicture *self, double radius);
gboolean web_image_picture_get_circular(WebImagePicture *self);
void web_image_picture_set_circular(WebImagePicture *self, gboolean circular);
gboolean web_image_picture_get_retry_on_click(WebImagePicture *self);
void web_image_picture_set_retry_on_click(WebImagePicture *self, gboolean retry);
const char *web_image_picture_get_alternative_text(WebImagePicture *self);
void web_image_picture_set_alternative_text(WebImagePicture *self, const char *text);

gboolean web_image_picture_copy_image(WebImagePicture *self);
void web_image_picture_save_image_async(
    WebImagePicture *self, GFile *file, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean web_image_picture_save_image_finish(WebImagePicture *self, GAsyncResult *result, GError **error);

G_END_DECLS
