#include "words.h"

// Rec. 709's luminance weights in 256ths, which add up to 256.
static inline uint32_t coverage(uint32_t mask, bool by_luminance) {
    if (!by_luminance) return mask >> 24;
    return ((mask & 0xFF) * 54 + ((mask >> 8) & 0xFF) * 183 + ((mask >> 16) & 0xFF) * 19 + 128) >> 8;
}

// Two bytes at bits 0 and 16: `share` of 255 of `first`, the rest of `second`.
static inline uint32_t mix_two(uint32_t first, uint32_t second, uint32_t share) {
    uint32_t sum = first * share + second * (255 - share) + 0x800080;
    return ((sum + ((sum >> 8) & 0xFF00FF)) >> 8) & 0xFF00FF;
}

FOR_EVERY_PROCESSOR
void cwi_mix_by_image(
    const uint8_t *restrict inside, const uint8_t *restrict outside, const uint8_t *restrict mask,
    uint8_t *restrict destination, size_t count, bool by_luminance) {
    for (size_t i = 0; i < count; i++) {
        uint32_t share = coverage(load(mask, i), by_luminance);
        uint32_t first = load(inside, i), second = load(outside, i);
        uint32_t red_blue = mix_two(first & 0xFF00FF, second & 0xFF00FF, share);
        uint32_t green_alpha = mix_two((first >> 8) & 0xFF00FF, (second >> 8) & 0xFF00FF, share);
        store(destination, i, red_blue | green_alpha << 8);
    }
}

FOR_EVERY_PROCESSOR
void cwi_mask_by_image(
    const uint8_t *restrict source, const uint8_t *restrict mask, uint8_t *restrict destination, size_t count,
    bool by_luminance) {
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load(source, i), share = coverage(load(mask, i), by_luminance);
        uint32_t red_blue = scale_two(pixel & 0xFF00FF, share);
        uint32_t green_alpha = scale_two((pixel >> 8) & 0xFF00FF, share);
        store(destination, i, red_blue | green_alpha << 8);
    }
}
