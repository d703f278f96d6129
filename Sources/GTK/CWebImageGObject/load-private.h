#pragma once

#include "bridge.h"
#include <webimage/webimage-load.h>
#include <webimage/webimage-session.h>

// Installs WebImageSession::load-requested.
G_GNUC_INTERNAL void web_image_load_install_signal(GObjectClass *session_class);
// What the library calls to offer the loads of a session to handlers of the signal. It does not keep the session alive.
G_GNUC_INTERNAL WebImageBridgeHook web_image_load_make_hook(WebImageSession *session);
// Whether the session would ask a handler for the URI.
G_GNUC_INTERNAL gboolean web_image_load_has_handler(WebImageSession *session, const char *uri);
// Whether this thread is the one that handlers run on, or that their main loop runs on.
G_GNUC_INTERNAL gboolean web_image_load_is_main_thread(void);
