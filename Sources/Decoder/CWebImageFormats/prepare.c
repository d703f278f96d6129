#include "file.h"

#ifndef CWI_WITHOUT_HEIF
#include <libheif/heif.h>
#endif
#ifndef CWI_WITHOUT_SVG
#include <fontconfig/fontconfig.h>
#include <librsvg/rsvg.h>
#endif

#ifndef CWI_WITHOUT_SVG
/// Draws with what librsvg loads only when it is needed: the modules for embedded images. Text would start threads.
static void draw_image(void) {
    static const char text[] =
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='8' height='8'>"
        "<image width='1' height='1' xlink:href='data:image/png;base64,"
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVQI12NoAAAAggCB3UNq9AAAAABJRU5ErkJggg=='/></svg>";
    RsvgHandle *handle = rsvg_handle_new_from_data((const guint8 *)text, sizeof text - 1, NULL);
    if (!handle) return;
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 8, 8);
    cairo_t *context = cairo_create(surface);
    RsvgRectangle viewport = {0, 0, 8, 8};
    rsvg_handle_render_document(handle, context, &viewport, NULL);
    cairo_destroy(context);
    cairo_surface_destroy(surface);
    g_object_unref(handle);
}

static void offer_fonts(void (*offer)(const char *path)) {
    FcConfig *fonts = FcConfigReference(NULL);
    if (!fonts) return;
    // The configuration cannot be read again.
    FcConfigSetRescanInterval(fonts, 0);
    FcFontSet *set = FcConfigGetFonts(fonts, FcSetSystem);
    for (int index = 0; set && index < set->nfont; index++) {
        FcChar8 *path;
        int face = 0;
        // A file with several faces has one entry for each.
        FcPatternGetInteger(set->fonts[index], FC_INDEX, 0, &face);
        if ((face & 0xFFFF) == 0 && FcPatternGetString(set->fonts[index], FC_FILE, 0, &path) == FcResultMatch)
            offer((const char *)path);
    }
    FcConfigDestroy(fonts);
}
#endif

void cwi_prepare(void (*offer)(const char *path)) {
#ifndef CWI_WITHOUT_HEIF
    // Finds the codecs, which newer versions have in files of their own.
    heif_init(NULL);
#endif
#ifndef CWI_WITHOUT_SVG
    offer_fonts(offer);
    draw_image();
#endif
    (void)offer;
}
