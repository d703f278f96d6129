#pragma once

#include "bridge.h"
#include <webimage/webimage-processor.h>

// A processor is the Swift object itself.

static inline WebImageBridgeProcessor *web_image_processor_get_handle(WebImageProcessor *self) {
    return (WebImageBridgeProcessor *)self;
}

static inline WebImageProcessor *web_image_processor_of_handle(WebImageBridgeProcessor *handle) {
    return (WebImageProcessor *)handle;
}
