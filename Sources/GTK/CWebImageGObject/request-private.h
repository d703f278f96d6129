#pragma once

#include "bridge.h"
#include <webimage/webimage-request.h>

// Describes the request for the bridge. The description is valid until the request changes.
G_GNUC_INTERNAL WebImageBridgeRequest web_image_request_describe(WebImageRequest *self);
