#include <glib-unix.h>
#include <glib.h>

// libdispatch's main queue, so that a GLib main loop can drain it: an eventfd that is readable while work waits, and the
// function that runs the work.
extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *);
