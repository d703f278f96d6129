#include "CWebImageKernels.h"

#include <string.h>

// Functions chosen when a program is loaded need glibc's loader, and run before a sanitizer's instrumentation can.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_INSTRUMENTED 1
#endif
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(IS_INSTRUMENTED)
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EVERY_PROCESSOR
#endif

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "pixels are handled as little-endian words"
#endif

static inline uint32_t load(const uint8_t *pixels, size_t index) {
    uint32_t word;
    memcpy(&word, pixels + index * 4, 4);
    return word;
}

static inline void store(uint8_t *pixels, size_t index, uint32_t word) { memcpy(pixels + index * 4, &word, 4); }

// Two bytes at bits 0 and 16, each times `factor` / 255 rounded to nearest: x / 255 = (x + x / 256) / 256 for
// x = byte * factor + 128.
static inline uint32_t scale_two(uint32_t bytes, uint32_t factor) {
    uint32_t product = bytes * factor + 0x800080;
    return ((product + ((product >> 8) & 0xFF00FF)) >> 8) & 0xFF00FF;
}

FOR_EVERY_PROCESSOR
bool cwi_premultiply(uint8_t *pixels, size_t count) {
    uint32_t alphas = 0xFF;
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load(pixels, i);
        uint32_t alpha = pixel >> 24;
        uint32_t red_blue = scale_two(pixel & 0xFF00FF, alpha);
        uint32_t green_alpha = scale_two(((pixel >> 8) & 0xFF) | 0xFF0000, alpha);
        store(pixels, i, red_blue | green_alpha << 8);
        alphas &= alpha;
    }
    return alphas == 0xFF;
}

FOR_EVERY_PROCESSOR
bool cwi_is_opaque(const uint8_t *pixels, size_t count) {
    uint32_t all = 0xFF000000;
    for (size_t i = 0; i < count; i++) all &= load(pixels, i);
    return all == 0xFF000000;
}

void cwi_unpremultiply(const uint8_t *source, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load(source, i);
        uint32_t alpha = pixel >> 24;
        if (alpha != 0 && alpha != 0xFF) {
            uint32_t straight = alpha << 24;
            for (int shift = 0; shift < 24; shift += 8) {
                uint32_t value = (((pixel >> shift) & 0xFF) * 255 + alpha / 2) / alpha;
                straight |= (value < 255 ? value : 255) << shift;
            }
            pixel = straight;
        }
        store(destination, i, alpha == 0 ? 0 : pixel);
    }
}

FOR_EVERY_PROCESSOR
void cwi_flatten(
    const uint8_t *source, uint8_t *destination, size_t count, uint8_t red, uint8_t green, uint8_t blue) {
    uint32_t red_blue = red | (uint32_t)blue << 16;
    uint32_t green_alpha = green | 0xFF0000u;
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load(source, i);
        uint32_t rest = 255 - (pixel >> 24);
        uint32_t behind = scale_two(red_blue, rest) | scale_two(green_alpha, rest) << 8;
        // No byte overflows: colour is at most alpha, and what lies behind at most the rest.
        store(destination, i, pixel + behind);
    }
}

FOR_EVERY_PROCESSOR
void cwi_inverted_cmyk_to_rgba(uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t light = load(pixels, i);
        uint32_t black = light >> 24;
        uint32_t red_blue = scale_two(light & 0xFF00FF, black);
        uint32_t green = scale_two((light >> 8) & 0xFF, black);
        store(pixels, i, red_blue | green << 8 | 0xFF000000);
    }
}

void cwi_reorient(
    const uint8_t *source, ptrdiff_t origin, ptrdiff_t step_x, ptrdiff_t step_y, uint8_t *destination, size_t width,
    size_t first_row, size_t row_count) {
    // Blocks keep both sides in the cache when rows become columns.
    enum { block = 16 };
    size_t end_row = first_row + row_count;
    for (size_t top = first_row; top < end_row; top += block) {
        size_t bottom = top + block < end_row ? top + block : end_row;
        for (size_t left = 0; left < width; left += block) {
            size_t right = left + block < width ? left + block : width;
            for (size_t y = top; y < bottom; y++) {
                ptrdiff_t index = origin + (ptrdiff_t)y * step_y + (ptrdiff_t)left * step_x;
                for (size_t x = left; x < right; x++, index += step_x) {
                    memcpy(destination + (y * width + x) * 4, source + index * 4, 4);
                }
            }
        }
    }
}
