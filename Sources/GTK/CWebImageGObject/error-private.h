#pragma once

#include "bridge.h"
#include <webimage/webimage-error.h>

G_GNUC_INTERNAL GError *web_image_error_new(const WebImageBridgeError *error);

// As G_OBJECT_WARN_INVALID_PROPERTY_ID, without the path of the source, which would make each build differ.
#define WARN_INVALID_PROPERTY(object, pspec) g_warning("%s has no property '%s'", G_OBJECT_TYPE_NAME(object), (pspec)->name)
