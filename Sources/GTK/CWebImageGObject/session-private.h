#pragma once

#include "bridge.h"
#include <webimage/webimage-session.h>

// The handle is valid as long as the session, and is made with the first call, on any thread.
G_GNUC_INTERNAL WebImageBridgeSession *web_image_session_get_handle(WebImageSession *self);
