#include "words.h"

// Four channels, which compilers emulate if a processor has no such lanes.
typedef uint32_t lanes __attribute__((vector_size(16)));
typedef uint16_t half_lanes __attribute__((vector_size(8)));

FOR_EVERY_PROCESSOR
static void add_row(const uint8_t *restrict source, uint16_t *restrict sums, size_t byte_count) {
    for (size_t x = 0; x < byte_count; x++) sums[x] = (uint16_t)(sums[x] + source[x]);
}

void cwi_shrink_boxes(
    const uint8_t *source, size_t source_stride, size_t row_count, size_t width, size_t columns, uint16_t *sums,
    uint8_t *destination) {
    for (size_t x = 0; x < width * 4; x++) sums[x] = source[x];
    for (size_t row = 1; row < row_count; row++) add_row(source + row * source_stride, sums, width * 4);
    for (size_t left = 0; left < width; left += columns, destination += 4) {
        size_t count = columns < width - left ? columns : width - left;
        lanes sum = {0, 0, 0, 0};
        for (size_t x = left; x < left + count; x++) {
            half_lanes pixel;
            memcpy(&pixel, sums + x * 4, sizeof pixel);
            sum += __builtin_convertvector(pixel, lanes);
        }
        uint64_t pixel_count = count * row_count;
        uint64_t reciprocal = ((1ull << 32) + pixel_count / 2) / pixel_count;
        for (int channel = 0; channel < 4; channel++) {
            destination[channel] = (uint8_t)((sum[channel] * reciprocal + (1ull << 31)) >> 32);
        }
    }
}
