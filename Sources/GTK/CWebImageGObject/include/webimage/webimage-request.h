#pragma once

#include <webimage/webimage-enums.h>
#include <webimage/webimage-processor.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_REQUEST (web_image_request_get_type())
G_DECLARE_FINAL_TYPE(WebImageRequest, web_image_request, WEB_IMAGE, REQUEST, GObject)

WebImageRequest *web_image_request_new(const char *uri);
WebImageRequest *web_image_request_new_sized(const char *uri, int width, int height);

const char *web_image_request_get_uri(WebImageRequest *self);
void web_image_request_set_uri(WebImageRequest *self, const char *uri);
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

G_END_DECLS
