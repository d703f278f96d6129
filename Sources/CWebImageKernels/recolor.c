#include "words.h"

// Whole products and sums, never fused: the same bytes on every processor.
#pragma STDC FP_CONTRACT OFF

static inline float channel(uint32_t word, int shift) { return (float)(int32_t)((word >> shift) & 0xFF); }

static inline uint32_t level(float value, float limit) {
    value = value > 0 ? value : 0;
    return (uint32_t)(int32_t)((value < limit ? value : limit) + 0.5f);
}

// Where alpha stays and adds nothing to colour, straight colour need not be known: a matrix of premultiplied colour gives
// premultiplied colour, if what is added counts as much as the pixel covers.
static inline __attribute__((always_inline)) void recolor_premultiplied(
    const uint8_t *restrict source, uint8_t *restrict destination, size_t count, const float *m) {
    for (size_t i = 0; i < count; i++) {
        uint32_t word = load(source, i);
        float red = channel(word, 0), green = channel(word, 8), blue = channel(word, 16), alpha = channel(word, 24);
        uint32_t result = word & 0xFF000000;
        result |= level(m[0] * red + m[1] * green + m[2] * blue + m[4] * alpha, alpha);
        result |= level(m[5] * red + m[6] * green + m[7] * blue + m[9] * alpha, alpha) << 8;
        result |= level(m[10] * red + m[11] * green + m[12] * blue + m[14] * alpha, alpha) << 16;
        store(destination, i, result);
    }
}

static inline float row_sum(const float *m, float red, float green, float blue, float alpha) {
    float sum = m[0] * red + m[1] * green + m[2] * blue + m[3] * alpha + m[4] * 255;
    sum = sum > 0 ? sum : 0;
    return sum < 255 ? sum : 255;
}

static inline __attribute__((always_inline)) void recolor_straight(
    const uint8_t *restrict source, uint8_t *restrict destination, size_t count, const float *m) {
    for (size_t i = 0; i < count; i++) {
        uint32_t word = load(source, i);
        float alpha = channel(word, 24);
        float inverse = alpha > 0 ? 255 / alpha : 0;
        float red = channel(word, 0) * inverse, green = channel(word, 8) * inverse, blue = channel(word, 16) * inverse;
        float cover = row_sum(m + 15, red, green, blue, alpha);
        float share = cover * (1.0f / 255);
        uint32_t result = level(cover, 255) << 24;
        result |= level(row_sum(m, red, green, blue, alpha) * share, cover);
        result |= level(row_sum(m + 5, red, green, blue, alpha) * share, cover) << 8;
        result |= level(row_sum(m + 10, red, green, blue, alpha) * share, cover) << 16;
        store(destination, i, result);
    }
}

static inline __attribute__((always_inline)) void recolor(
    const uint8_t *restrict source, uint8_t *restrict destination, size_t count, const float *matrix) {
    float m[20];
    memcpy(m, matrix, sizeof m);
    bool keeps_alpha = m[15] == 0 && m[16] == 0 && m[17] == 0 && m[18] == 1 && m[19] == 0;
    if (keeps_alpha && m[3] == 0 && m[8] == 0 && m[13] == 0) {
        recolor_premultiplied(source, destination, count, m);
    } else {
        recolor_straight(source, destination, count, m);
    }
}

FOR_EVERY_PROCESSOR
void cwi_recolor(
    const uint8_t *restrict source, uint8_t *restrict destination, size_t count, const float matrix[20]) {
    recolor(source, destination, count, matrix);
}

void cwi_recolor_portable(
    const uint8_t *restrict source, uint8_t *restrict destination, size_t count, const float matrix[20]) {
    recolor(source, destination, count, matrix);
}

// Rec. 709's shares of luminance in 256ths, which add up to 256.
static inline uint32_t coverage(uint32_t mask, bool by_luminance) {
    if (!by_luminance) return mask >> 24;
    return ((mask & 0xFF) * 54 + ((mask >> 8) & 0xFF) * 183 + ((mask >> 16) & 0xFF) * 19 + 128) >> 8;
}

// Two bytes at bits 0 and 16: `first` at `share` of 255, `second` at the rest.
static inline uint32_t mix_two(uint32_t first, uint32_t second, uint32_t share) {
    uint32_t sum = first * share + second * (255 - share) + 0x800080;
    return ((sum + ((sum >> 8) & 0xFF00FF)) >> 8) & 0xFF00FF;
}

FOR_EVERY_PROCESSOR
void cwi_mix_by_picture(
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
void cwi_mask_by_picture(
    const uint8_t *restrict source, const uint8_t *restrict mask, uint8_t *restrict destination, size_t count,
    bool by_luminance) {
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load(source, i), share = coverage(load(mask, i), by_luminance);
        uint32_t red_blue = scale_two(pixel & 0xFF00FF, share);
        uint32_t green_alpha = scale_two((pixel >> 8) & 0xFF00FF, share);
        store(destination, i, red_blue | green_alpha << 8);
    }
}

FOR_EVERY_PROCESSOR
void cwi_sum(const uint8_t *pixels, size_t count, uint32_t sums[4]) {
    uint32_t red = 0, green = 0, blue = 0, alpha = 0;
    // Two sums fit into one word for as long as there are 257 pixels or less.
    enum { block = 256 };
    for (size_t start = 0; start < count; start += block) {
        size_t end = start + block < count ? start + block : count;
        uint32_t red_blue = 0, green_alpha = 0;
        for (size_t i = start; i < end; i++) {
            uint32_t pixel = load(pixels, i);
            red_blue += pixel & 0xFF00FF;
            green_alpha += (pixel >> 8) & 0xFF00FF;
        }
        red += red_blue & 0xFFFF;
        blue += red_blue >> 16;
        green += green_alpha & 0xFFFF;
        alpha += green_alpha >> 16;
    }
    sums[0] = red;
    sums[1] = green;
    sums[2] = blue;
    sums[3] = alpha;
}
