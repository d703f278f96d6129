#include "words.h"

#pragma STDC FP_CONTRACT OFF

enum { STRIP = CWI_STRIP_PIXELS * 4 };

// Means of 2 * radius + 1 rows of a strip, edges repeated. Sums are whole numbers, and no quotient of one and an odd
// number lies halfway between two levels: floats round them the right way for boxes of up to 16,000 rows.
static inline __attribute__((always_inline)) void box_blur(
    const uint8_t *restrict source, uint8_t *restrict destination, size_t row_count, size_t radius) {
    const size_t last = row_count - 1;
    const float inverse = 1.0f / (float)(2 * radius + 1);
    int32_t sums[STRIP];
    // The first row stands for itself and all above, the last for those below.
    size_t below = radius < last ? radius : last;
    for (size_t i = 0; i < STRIP; i++) {
        sums[i] = source[i] * (int32_t)(radius + 1) + source[last * STRIP + i] * (int32_t)(radius - below);
    }
    for (size_t y = 1; y <= below; y++) {
        for (size_t i = 0; i < STRIP; i++) sums[i] += source[y * STRIP + i];
    }
    for (size_t y = 0; y < row_count; y++) {
        const uint8_t *entering = source + (y + radius + 1 < row_count ? y + radius + 1 : last) * STRIP;
        const uint8_t *leaving = source + (y > radius ? y - radius : 0) * STRIP;
        uint8_t *output = destination + y * STRIP;
        for (size_t i = 0; i < STRIP; i++) {
            output[i] = (uint8_t)(int32_t)((float)sums[i] * inverse + 0.5f);
            sums[i] += entering[i] - leaving[i];
        }
    }
}

static inline __attribute__((always_inline)) void blur_columns(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination) {
    uint8_t *from = scratch, *to = scratch + row_count * STRIP;
    // Rows of a wide picture lie far apart; side by side they stay in the cache for all passes.
    if (column_count == CWI_STRIP_PIXELS) {
        for (size_t y = 0; y < row_count; y++) memcpy(from + y * STRIP, source + y * stride, STRIP);
    } else {
        memset(from, 0, row_count * STRIP);
        for (size_t y = 0; y < row_count; y++) memcpy(from + y * STRIP, source + y * stride, column_count * 4);
    }
    for (int pass = 0; pass < pass_count; pass++) {
        box_blur(from, to, row_count, radius);
        uint8_t *blurred = to;
        to = from;
        from = blurred;
    }
    cwi_reorient(from, 0, CWI_STRIP_PIXELS, 1, destination, row_count, 0, column_count);
}

FOR_EVERY_PROCESSOR
void cwi_blur_columns(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination) {
    blur_columns(source, stride, column_count, row_count, radius, pass_count, scratch, destination);
}

void cwi_blur_columns_portable(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination) {
    blur_columns(source, stride, column_count, row_count, radius, pass_count, scratch, destination);
}
