#pragma once

#include <webimage/webimage-enums.h>
#include <webimage/webimage-processor.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_REQUEST (web_image_request_get_type())
G_DECLARE_FINAL_TYPE(WebImageRequest, web_image_request, WEB_IMAGE, REQUEST, GObject)

WebImageRequest *web_image_request_new(const char *uri);
WebImageRequest *web_image_request_new_sized(const char *uri, int width, int height);
WebImageRequest *web_image_request_new_for_file(GFile *file);
WebImageRequest *web_image_request_new_for_bytes(GBytes *bytes, const char *identifier);
WebImageRequest *web_image_request_new_for_stream(GInputStream *stream, const char *identifier);

const char *web_image_request_get_uri(WebImageRequest *self);
void web_image_request_set_uri(WebImageRequest *self, const char *uri);
GFile *web_image_request_get_file(WebImageRequest *self);
void web_image_request_set_file(WebImageRequest *self, GFile *file);
GBytes *web_image_request_get_bytes(WebImageRequest *self);
void web_image_request_set_bytes(WebImageRequest *self, GBytes *bytes);
GInputStream *web_image_request_get_stream(WebImageRequest *self);
void web_image_request_set_stream(WebImageRequest *self, GInputStream *stream);
const char *web_image_request_get_identifier(WebImageRequest *self);
void web_image_request_set_identifier(WebImageRequest *self, const char *identifier);
int web_image_request_get_width(WebImageRequest *self);
void web_image_request_set_width(WebImageRequest *self, int width);
int web_image_request_get_height(WebImageRequest *self);
void web_image_request_set_height(WebImageRequest *self, int height);
GtkContentFit web_image_request_get_content_fit(WebImageRequest *self);
void web_image_request_set_content_fit(WebImageRequest *self, GtkContentFit fit);
WebImageProcessor *web_image_request_get_processor(WebImageRequest *self);
void web_image_request_set_processor(WebImageRequest *self, WebImageProcessor *processor);
const char *web_image_request_get_processing(WebImageRequest *self);
void web_image_request_set_processing(WebImageRequest *self, const char *processing);
const char *const *web_image_request_get_headers(WebImageRequest *self);
void web_image_request_set_headers(WebImageRequest *self, const char *const *headers);
WebImagePriority web_image_request_get_priority(WebImageRequest *self);
void web_image_request_set_priority(WebImageRequest *self, WebImagePriority priority);
WebImageCachePolicy web_image_request_get_cache_policy(WebImageRequest *self);
void web_image_request_set_cache_policy(WebImageRequest *self, WebImageCachePolicy policy);
const char *web_image_request_get_low_data_uri(WebImageRequest *self);
void web_image_request_set_low_data_uri(WebImageRequest *self, const char *uri);
double web_image_request_get_focus_x(WebImageRequest *self);
void web_image_request_set_focus_x(WebImageRequest *self, double x);
double web_image_request_get_focus_y(WebImageRequest *self);
void web_image_request_set_focus_y(WebImageRequest *self, double y);
void web_image_request_set_focus(WebImageRequest *self, double x, double y);

G_END_DECLS
