#include "words.h"

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
        // No byte overflows: color is at most alpha, and the rest of the background at most the rest.
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

// If rows stay rows, no blocks are needed.
FOR_EVERY_PROCESSOR
static void reverse_row(const uint8_t *source, uint8_t *destination, size_t width) {
    for (size_t x = 0; x < width; x++) store(destination, x, load(source, width - 1 - x));
}

void cwi_reorient(
    const uint8_t *source, ptrdiff_t origin, ptrdiff_t step_x, ptrdiff_t step_y, uint8_t *destination, size_t width,
    size_t first_row, size_t row_count) {
    if (step_x == 1 || step_x == -1) {
        for (size_t y = first_row; y < first_row + row_count; y++) {
            const uint8_t *start = source + (origin + (ptrdiff_t)y * step_y) * 4;
            uint8_t *row = destination + y * width * 4;
            if (step_x == 1) {
                memcpy(row, start, width * 4);
            } else {
                reverse_row(start - (width - 1) * 4, row, width);
            }
        }
        return;
    }
    // Blocks keep both sides in the cache if rows become columns.
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
