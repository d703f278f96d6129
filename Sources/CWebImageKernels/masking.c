#include "words.h"

static inline uint32_t scale_pixel(uint32_t pixel, uint32_t factor) {
    return scale_two(pixel & 0xFF00FF, factor) | scale_two((pixel >> 8) & 0xFF00FF, factor) << 8;
}

FOR_EVERY_PROCESSOR
void cwi_mask(const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) store(destination, i, scale_pixel(load(source, i), mask[i]));
}

// A product of three bytes as a byte, rounded to nearest.
static inline uint8_t divided_twice(uint32_t product) { return (uint8_t)((product + 65025 / 2) / 65025); }

// Rounded once, at the end: twice would be off by two levels on an edge.
FOR_EVERY_PROCESSOR
void cwi_blend_over_masked(
    const uint8_t *restrict source, const uint8_t *restrict mask, uint8_t *restrict destination, size_t count) {
    for (size_t i = 0; i < count * 4; i += 4) {
        uint32_t share = mask[i / 4];
        uint32_t rest = 65025 - source[i + 3] * share;
        for (size_t channel = i; channel < i + 4; channel++) {
            destination[channel] = divided_twice(source[channel] * share * 255 + destination[channel] * rest);
        }
    }
}

FOR_EVERY_PROCESSOR
void cwi_mask_with_border(
    const uint8_t *restrict source, const uint8_t *restrict shape, const uint8_t *restrict border, uint32_t color,
    uint8_t *restrict destination, size_t count) {
    for (size_t i = 0; i < count * 4; i += 4) {
        uint32_t share = border[i / 4];
        uint32_t rest = shape[i / 4] * 255u - share * (color >> 24);
        for (size_t channel = 0; channel < 4; channel++) {
            uint32_t above = color >> (8 * channel) & 0xFF;
            destination[i + channel] = divided_twice(above * share * 255 + source[i + channel] * rest);
        }
    }
}

FOR_EVERY_PROCESSOR
void cwi_fill(uint32_t color, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) store(destination, i, color);
}
