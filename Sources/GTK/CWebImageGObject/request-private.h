#pragma once

#include "bridge.h"
#include "request-source.h"
#include <webimage/webimage-request.h>

// Describes the request for the bridge. The description is valid until the request changes.
G_GNUC_INTERNAL WebImageBridgeRequest web_image_request_describe(WebImageRequest *self);

struct _WebImageRequest {
    GObject parent_instance;

    char *uri, *low_data_uri;
    RequestSource source;
    int width, height;
    GtkContentFit fit;
    WebImageProcessor *processor;
    // What the processor was made from; NULL for one that was not made from a text.
    char *processing;
    // As given, and as names and values by turns.
    GStrv headers, fields;
    WebImagePriority priority;
    WebImageCachePolicy cache_policy;
    double focus_x, focus_y;
};

enum {
    REQUEST_URI = 1,
    REQUEST_WIDTH,
    REQUEST_HEIGHT,
    REQUEST_CONTENT_FIT,
    REQUEST_PROCESSOR,
    REQUEST_PROCESSING,
    REQUEST_HEADERS,
    REQUEST_PRIORITY,
    REQUEST_CACHE_POLICY,
    REQUEST_LOW_DATA_URI,
    REQUEST_FOCUS_X,
    REQUEST_FOCUS_Y,
    // Those of request-source.h follow.
    REQUEST_FIRST_OF_SOURCE,
    REQUEST_N_PROPERTIES = REQUEST_FIRST_OF_SOURCE + REQUEST_SOURCE_N_PROPERTIES,
};

G_GNUC_INTERNAL extern GParamSpec *web_image_request_properties[REQUEST_N_PROPERTIES];

// Of request-source.c, which has the properties of sources: the fields of the request, one of these properties, and the end of others.
G_GNUC_INTERNAL RequestSource *web_image_request_get_source(WebImageRequest *self);
G_GNUC_INTERNAL void web_image_request_notify_source(WebImageRequest *self, RequestSourceProperty property);
// Clears the address and other sources, unless `value` is NULL.
G_GNUC_INTERNAL void web_image_request_prepare_source(WebImageRequest *self, gconstpointer value);
G_GNUC_INTERNAL void web_image_request_clear_sources(WebImageRequest *self);
// Returns whether the property is one of a source.
G_GNUC_INTERNAL gboolean web_image_request_set_source_property(
    WebImageRequest *self, guint property, const GValue *value);
