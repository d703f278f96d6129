#include "words.h"

// No fused multiply-add, so that every processor computes the same bytes.
#pragma STDC FP_CONTRACT OFF

static inline float channel(uint32_t word, int shift) { return (float)(int32_t)((word >> shift) & 0xFF); }

static inline uint32_t level(float value, float limit) {
    value = value > 0 ? value : 0;
    return (uint32_t)(int32_t)((value < limit ? value : limit) + 0.5f);
}

// If alpha does not change and does not affect color, the matrix applies to premultiplied color, with the constants
// multiplied by alpha.
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
