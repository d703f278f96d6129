#pragma once

#include <webimage/webimage-session.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_VIEW (web_image_view_get_type())
G_DECLARE_INTERFACE(WebImageView, web_image_view, WEB_IMAGE, VIEW, GObject)

const char *web_image_view_get_uri(WebImageView *self);
void web_image_view_set_uri(WebImageView *self, const char *uri);
GFile *web_image_view_get_file(WebImageView *self);
void web_image_view_set_file(WebImageView *self, GFile *file);
GBytes *web_image_view_get_bytes(WebImageView *self);
void web_image_view_set_bytes(WebImageView *self, GBytes *bytes);
GInputStream *web_image_view_get_stream(WebImageView *self);
void web_image_view_set_stream(WebImageView *self, GInputStream *stream);
const char *web_image_view_get_identifier(WebImageView *self);
void web_image_view_set_identifier(WebImageView *self, const char *identifier);
const char *const *web_image_view_get_headers(WebImageView *self);
void web_image_view_set_headers(WebImageView *self, const char *const *headers);
WebImageProcessor *web_image_view_get_processor(WebImageView *self);
void web_image_view_set_processor(WebImageView *self, WebImageProcessor *processor);
const char *web_image_view_get_processing(WebImageView *self);
void web_image_view_set_processing(WebImageView *self, const char *processing);
WebImagePriority web_image_view_get_priority(WebImageView *self);
void web_image_view_set_priority(WebImageView *self, WebImagePriority priority);
WebImageCachePolicy web_image_view_get_cache_policy(WebImageView *self);
void web_image_view_set_cache_policy(WebImageView *self, WebImageCachePolicy policy);
const char *web_image_view_get_low_data_uri(WebImageView *self);
void web_image_view_set_low_data_uri(WebImageView *self, const char *uri);
WebImageSession *web_image_view_get_session(WebImageView *self);
void web_image_view_set_session(WebImageView *self, WebImageSession *session);
GdkPaintable *web_image_view_get_placeholder(WebImageView *self);
void web_image_view_set_placeholder(WebImageView *self, GdkPaintable *placeholder);
const char *web_image_view_get_blur_hash(WebImageView *self);
void web_image_view_set_blur_hash(WebImageView *self, const char *hash);
const char *web_image_view_get_thumb_hash(WebImageView *self);
void web_image_view_set_thumb_hash(WebImageView *self, const char *hash);
const GdkRGBA *web_image_view_get_placeholder_color(WebImageView *self);
void web_image_view_set_placeholder_color(WebImageView *self, const GdkRGBA *color);
GdkPaintable *web_image_view_get_error_paintable(WebImageView *self);
void web_image_view_set_error_paintable(WebImageView *self, GdkPaintable *paintable);
WebImageTransition web_image_view_get_transition(WebImageView *self);
void web_image_view_set_transition(WebImageView *self, WebImageTransition transition);
guint web_image_view_get_transition_duration(WebImageView *self);
void web_image_view_set_transition_duration(WebImageView *self, guint milliseconds);
gboolean web_image_view_get_animate(WebImageView *self);
void web_image_view_set_animate(WebImageView *self, gboolean animate);
double web_image_view_get_focus_x(WebImageView *self);
void web_image_view_set_focus_x(WebImageView *self, double x);
double web_image_view_get_focus_y(WebImageView *self);
void web_image_view_set_focus_y(WebImageView *self, double y);
gboolean web_image_view_get_loading(WebImageView *self);
double web_image_view_get_progress(WebImageView *self);
GError *web_image_view_dup_error(WebImageView *self);
int web_image_view_get_image_width(WebImageView *self);
int web_image_view_get_image_height(WebImageView *self);
int web_image_view_get_http_status(WebImageView *self);
char *web_image_view_dup_final_uri(WebImageView *self);
char *web_image_view_dup_content_type(WebImageView *self);
WebImageOrigin web_image_view_get_origin(WebImageView *self);
GdkPaintable *web_image_view_dup_paintable(WebImageView *self);
void web_image_view_reload(WebImageView *self);
void web_image_view_cancel(WebImageView *self);

G_END_DECLS
