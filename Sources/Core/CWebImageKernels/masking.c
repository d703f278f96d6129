#include "words.h"

static inline uint32_t scale_pixel(uint32_t pixel, uint32_t factor) {
    return scale_two(pixel & 0xFF00FF, factor) | scale_two((pixel >> 8) & 0xFF00FF, factor) << 8;
}

FOR_EVERY_PROCESSOR
void cwi_mask(const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) store(destination, i, scale_pixel(load(source, i), mask[i]));
}

// A pixel's channels side by side.
typedef uint8_t bytes __attribute__((vector_size(4)));
typedef uint32_t lanes __attribute__((vector_size(16)));
typedef uint64_t long_lanes __attribute__((vector_size(32)));

static inline lanes spread(uint32_t pixel) {
    bytes channels;
    memcpy(&channels, &pixel, sizeof channels);
    return __builtin_convertvector(channels, lanes);
}

// The product of three bytes as a byte, rounded to nearest: multiplying by 2 ** 40 / 65025, rounded up, divides by 255
// * 255 exactly for 24 bits.
static inline uint32_t divided_twice(lanes products) {
    long_lanes wide = __builtin_convertvector(products + 65025 / 2, long_lanes) * 16909063 >> 40;
    bytes channels = __builtin_convertvector(wide, bytes);
    uint32_t pixel;
    memcpy(&pixel, &channels, sizeof pixel);
    return pixel;
}

// Rounded once at the end: twice would be off by two levels on an edge. Most masks are 0 or 255 nearly everywhere.
FOR_EVERY_PROCESSOR
void cwi_blend_over_masked(
    const uint8_t *restrict source, const uint8_t *restrict mask, uint8_t *restrict destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t share = mask[i], above = load(source, i), below = load(destination, i);
        if (share == 0) continue;
        if (share == 255) {
            // No byte overflows; see cwi_blend_over.
            store(destination, i, above + scale_pixel(below, 255 - (above >> 24)));
        } else {
            uint32_t rest = 65025 - (above >> 24) * share;
            store(destination, i, divided_twice(spread(above) * (share * 255) + spread(below) * rest));
        }
    }
}

FOR_EVERY_PROCESSOR
void cwi_mask_with_border(
    const uint8_t *restrict source, const uint8_t *restrict shape, const uint8_t *restrict border, uint32_t color,
    uint8_t *restrict destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t share = border[i];
        if (share == 0 && shape[i] == 255) {
            store(destination, i, load(source, i));
        } else {
            uint32_t rest = shape[i] * 255u - share * (color >> 24);
            store(destination, i, divided_twice(spread(color) * (share * 255) + spread(load(source, i)) * rest));
        }
    }
}

FOR_EVERY_PROCESSOR
void cwi_fill(uint32_t color, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) store(destination, i, color);
}
