#pragma once

#include "bridge.h"
#include <webimage/webimage-error.h>

G_GNUC_INTERNAL GError *web_image_error_new(const WebImageBridgeError *error);
