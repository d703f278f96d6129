#include "words.h"

static inline uint32_t scale_pixel(uint32_t pixel, uint32_t factor) {
    return scale_two(pixel & 0xFF00FF, factor) | scale_two((pixel >> 8) & 0xFF00FF, factor) << 8;
}

FOR_EVERY_PROCESSOR
void cwi_mask(const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) store(destination, i, scale_pixel(load(source, i), mask[i]));
}

FOR_EVERY_PROCESSOR
void cwi_blend_over_masked(
    const uint8_t *restrict source, const uint8_t *restrict mask, uint8_t *restrict destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t above = scale_pixel(load(source, i), mask[i]);
        // No byte overflows; see cwi_blend_over.
        store(destination, i, above + scale_pixel(load(destination, i), 255 - (above >> 24)));
    }
}

FOR_EVERY_PROCESSOR
void cwi_mask_with_border(
    const uint8_t *restrict source, const uint8_t *restrict shape, const uint8_t *restrict border, uint32_t color,
    uint8_t *restrict destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t above = scale_pixel(color, border[i]);
        // No byte overflows: colours are at most their alphas, and the two alphas add up to the shape at most.
        uint32_t below = scale_pixel(load(source, i), shape[i] - (above >> 24));
        store(destination, i, above + below);
    }
}

FOR_EVERY_PROCESSOR
void cwi_fill(uint32_t color, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) store(destination, i, color);
}
