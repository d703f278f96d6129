#include "words.h"

// W3C PNG, third edition, 9.2.
enum { FILTER_NONE, FILTER_SUB, FILTER_UP, FILTER_AVERAGE, FILTER_PAETH, FILTER_COUNT };

static inline uint8_t predict(int filter, int16_t left, int16_t above, int16_t corner) {
    int16_t from_left = above - corner, from_above = left - corner, from_corner = from_left + from_above;
    switch (filter) {
    case FILTER_SUB:
        return (uint8_t)left;
    case FILTER_UP:
        return (uint8_t)above;
    case FILTER_AVERAGE:
        return (uint8_t)((left + above) / 2);
    case FILTER_PAETH:
        from_left = from_left < 0 ? -from_left : from_left;
        from_above = from_above < 0 ? -from_above : from_above;
        from_corner = from_corner < 0 ? -from_corner : from_corner;
        above = from_above <= from_corner ? above : corner;
        return (uint8_t)(((from_left <= from_above) & (from_left <= from_corner)) ? left : above);
    default:
        return 0;
    }
}

// Returns the sum of the filtered bytes as absolute signed numbers: the smaller, the better it compresses.
static inline uint64_t filter_row(
    int filter, const uint8_t *row, const uint8_t *above, uint8_t *output, size_t count, size_t pixel) {
    for (size_t x = 0; x < count && x < pixel; x++) output[x] = (uint8_t)(row[x] - predict(filter, 0, above[x], 0));
    for (size_t x = pixel; x < count; x++) {
        output[x] = (uint8_t)(row[x] - predict(filter, row[x - pixel], above[x], above[x - pixel]));
    }
    uint64_t sum = 0;
    for (size_t x = 0; x < count; x++) sum += output[x] < 128 ? output[x] : 256 - output[x];
    return sum;
}

FOR_EVERY_PROCESSOR
void cwi_png_filter(
    const uint8_t *row, const uint8_t *above, uint8_t *filtered, uint8_t *scratch, size_t byte_count,
    size_t bytes_per_pixel) {
    uint64_t smallest = filter_row(FILTER_NONE, row, above, filtered + 1, byte_count, bytes_per_pixel);
    filtered[0] = FILTER_NONE;
    // Each with a constant, so that compilers specialize the loop.
    for (int filter = FILTER_SUB; filter < FILTER_COUNT; filter++) {
        uint64_t sum;
        switch (filter) {
        case FILTER_SUB:
            sum = filter_row(FILTER_SUB, row, above, scratch, byte_count, bytes_per_pixel);
            break;
        case FILTER_UP:
            sum = filter_row(FILTER_UP, row, above, scratch, byte_count, bytes_per_pixel);
            break;
        case FILTER_AVERAGE:
            sum = filter_row(FILTER_AVERAGE, row, above, scratch, byte_count, bytes_per_pixel);
            break;
        default:
            sum = filter_row(FILTER_PAETH, row, above, scratch, byte_count, bytes_per_pixel);
            break;
        }
        if (sum >= smallest) continue;
        smallest = sum;
        filtered[0] = (uint8_t)filter;
        memcpy(filtered + 1, scratch, byte_count);
    }
}

FOR_EVERY_PROCESSOR
void cwi_png_filter_with(
    uint8_t filter, const uint8_t *row, const uint8_t *above, uint8_t *filtered, size_t byte_count,
    size_t bytes_per_pixel) {
    filtered[0] = filter;
    switch (filter) {
    case FILTER_SUB:
        filter_row(FILTER_SUB, row, above, filtered + 1, byte_count, bytes_per_pixel);
        break;
    case FILTER_UP:
        filter_row(FILTER_UP, row, above, filtered + 1, byte_count, bytes_per_pixel);
        break;
    case FILTER_AVERAGE:
        filter_row(FILTER_AVERAGE, row, above, filtered + 1, byte_count, bytes_per_pixel);
        break;
    case FILTER_PAETH:
        filter_row(FILTER_PAETH, row, above, filtered + 1, byte_count, bytes_per_pixel);
        break;
    default:
        filtered[0] = FILTER_NONE;
        memcpy(filtered + 1, row, byte_count);
        break;
    }
}

void cwi_rgba_to_rgb(const uint8_t *source, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) memcpy(destination + i * 3, source + i * 4, 3);
}
