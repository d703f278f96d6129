#include "file.h"

#ifndef CWI_WITHOUT_HEIF
#include "heif_library.h"
#endif

#ifndef CWI_WITHOUT_SVG
#include "svg_library.h"

/// Draws with what librsvg loads only when it is needed: the modules for embedded images. Text would start threads.
static void draw_image(void) {
    static const char text[] =
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='8' height='8'>"
        "<image width='1' height='1' xlink:href='data:image/png;base64,"
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVQI12NoAAAAggCB3UNq9AAAAABJRU5ErkJggg=='/></svg>";
    uint32_t pixels[8 * 8];
    cwi_file *file;
    cwi_result result = cwi_open_svg((const uint8_t *)text, sizeof text - 1, (cwi_limits){0}, (cwi_choice){0}, &file);
    if (result.status != CWI_OK) return;
    cwi_file_draw(file, 8, 8, pixels, sizeof pixels / 8);
    cwi_file_close(file);
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
        if ((face & 0xFFFF) == 0 &&
            FcPatternGetString(set->fonts[index], FC_FILE, 0, &path) == FcResultMatch)
            offer((const char *)path);
    }
    FcConfigDestroy(fonts);
}

#endif

void cwi_prepare(cwi_format format, void (*offer)(const char *path)) {
    if (cwi_load(format).status != CWI_OK) return;
    switch (format) {
#ifndef CWI_WITHOUT_HEIF
    // Finds the codecs, which newer versions have in files of their own.
    case CWI_HEIC: heif_init(NULL); break;
#endif
#ifndef CWI_WITHOUT_SVG
    case CWI_SVG:
        offer_fonts(offer);
        draw_image();
        break;
#endif
    default: break;
    }
}
