#include <stdbool.h>

#include <cairo.h>
#include <pango/pangocairo.h>
#include <pango/pangofc-font.h>

// Whether fontconfig has any font at all; without one pango ends the whole process.
static inline bool cwi_has_fonts(void) {
    FcFontSet *fonts = FcConfigGetFonts(NULL, FcSetSystem);
    return fonts != NULL && fonts->nfont > 0;
}

// Whether every glyph of the text exists, in a font with colors. The casts are macros, which Swift does not import.
static inline bool cwi_layout_is_in_color(PangoLayout *layout) {
    if (pango_layout_get_unknown_glyphs_count(layout) > 0) return false;
    bool is_in_color = false;
    PangoLayoutIter *iterator = pango_layout_get_iter(layout);
    do {
        PangoLayoutRun *run = pango_layout_iter_get_run_readonly(iterator);
        if (run == NULL) continue;
        PangoFont *font = run->item->analysis.font;
        FcPattern *pattern = PANGO_IS_FC_FONT(font) ? pango_fc_font_get_pattern(PANGO_FC_FONT(font)) : NULL;
        FcBool has_color = FcFalse;
        is_in_color = pattern != NULL && FcPatternGetBool(pattern, FC_COLOR, 0, &has_color) == FcResultMatch && has_color;
    } while (is_in_color && pango_layout_iter_next_run(iterator));
    pango_layout_iter_free(iterator);
    return is_in_color;
}
