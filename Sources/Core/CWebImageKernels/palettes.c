#include "words.h"

FOR_EVERY_PROCESSOR
bool cwi_cut_alpha(const uint8_t *source, uint8_t *pixels, size_t count) {
    uint32_t all = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        uint32_t mask = load(source, i) >> 31 ? UINT32_MAX : 0;
        store(pixels, i, (load(pixels, i) | 0xFF000000) & mask);
        all &= mask;
    }
    return all != 0;
}

FOR_EVERY_PROCESSOR
size_t cwi_nearest_color(const int16_t *levels, size_t count, int red, int green, int blue) {
    const int16_t *reds = levels, *greens = levels + count, *blues = levels + 2 * count;
    // The distance, of at most 18 bits, above the index: the minimum contains both.
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        int32_t r = reds[i] - red, g = greens[i] - green, b = blues[i] - blue;
        uint32_t key = (uint32_t)(r * r + g * g + b * b) << 8 | i;
        best = key < best ? key : best;
    }
    return best & 0xFF;
}
