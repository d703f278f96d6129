#include "words.h"

FOR_EVERY_PROCESSOR
void cwi_sum(const uint8_t *pixels, size_t count, uint32_t sums[4]) {
    uint32_t red = 0, green = 0, blue = 0, alpha = 0;
    // Two sums fit in one word for up to 257 pixels.
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
