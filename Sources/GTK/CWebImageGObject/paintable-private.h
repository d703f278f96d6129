#pragma once

#include <webimage/webimage-paintable.h>

// Of webimage-icon.c.
G_GNUC_INTERNAL void web_image_paintable_implement_icon(GIconIface *interface);
G_GNUC_INTERNAL void web_image_paintable_implement_loadable_icon(GLoadableIconIface *interface);
