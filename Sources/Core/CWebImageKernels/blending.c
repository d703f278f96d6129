#include "words.h"

FOR_EVERY_PROCESSOR
void cwi_blend_over(const uint8_t *restrict source, uint8_t *restrict destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t above = load(source, i);
        uint32_t below = load(destination, i);
        uint32_t rest = 255 - (above >> 24);
        uint32_t red_blue = scale_two(below & 0xFF00FF, rest);
        uint32_t green_alpha = scale_two((below >> 8) & 0xFF00FF, rest);
        // No byte overflows: the color above is at most its alpha, and the rest of the one below at most the rest.
        store(destination, i, above + (red_blue | green_alpha << 8));
    }
}
