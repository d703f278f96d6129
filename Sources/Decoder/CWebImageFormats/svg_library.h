// librsvg's functions, and those of what it stands on. Only processes that draw SVG load it.

#ifndef CWEBIMAGE_FORMATS_SVG_LIBRARY_H
#define CWEBIMAGE_FORMATS_SVG_LIBRARY_H

#include <CWebImageLibrary.h>

#define CWI_SVG_FUNCTIONS(F) \
    F(FcConfigDestroy) F(FcConfigGetFonts) F(FcConfigReference) F(FcConfigSetRescanInterval) F(FcPatternGetInteger)    \
    F(FcPatternGetString) F(cairo_create) F(cairo_destroy) F(cairo_image_surface_create_for_data) F(cairo_status)      \
    F(cairo_status_to_string) F(cairo_surface_destroy) F(cairo_surface_flush) F(g_error_free) F(g_object_unref)        \
    F(rsvg_handle_get_intrinsic_dimensions) F(rsvg_handle_get_intrinsic_size_in_pixels) F(rsvg_handle_new_from_data)   \
    F(rsvg_handle_render_document) F(rsvg_handle_set_dpi)

CWI_SVG_FUNCTIONS(CWI_REDIRECT)

#include <fontconfig/fontconfig.h>
#include <librsvg/rsvg.h>

#endif
