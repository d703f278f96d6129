#pragma once

#include "bridge.h"
#include <webimage/webimage-error.h>

GError *web_image_error_new(const WebImageBridgeError *error);
