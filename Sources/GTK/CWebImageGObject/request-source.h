#pragma once

#include "bridge.h"

// What a request loads in place of a URI, and the properties for it, whose IDs follow those of the request.

typedef enum {
    REQUEST_SOURCE_FILE,
    REQUEST_SOURCE_BYTES,
    REQUEST_SOURCE_STREAM,
    REQUEST_SOURCE_IDENTIFIER,
    REQUEST_SOURCE_N_PROPERTIES,
} RequestSourceProperty;

typedef struct {
    // At most one of them.
    GFile *file;
    GBytes *bytes;
    GInputStream *stream;
    // Of bytes and streams, in caches.
    char *identifier;
    // Made when it is first needed.
    WebImageBridgeSource *handle;
} RequestSource;

// `properties` has the place of the first one.
G_GNUC_INTERNAL void request_source_make_properties(GParamSpec **properties);
G_GNUC_INTERNAL void request_source_clear(RequestSource *self);
// Returns whether the property is one of these.
G_GNUC_INTERNAL gboolean request_source_get_property(const RequestSource *self, guint property, GValue *value);
// NULL without a source. Valid until the source changes.
G_GNUC_INTERNAL WebImageBridgeSource *request_source_get_handle(RequestSource *self);
