#include "words.h"

FOR_EVERY_PROCESSOR
void cwi_swap_red_and_blue(const uint8_t *source, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = load(source, i);
        uint32_t red_blue = pixel & 0xFF00FF;
        store(destination, i, (pixel & 0xFF00FF00) | red_blue << 16 | red_blue >> 16);
    }
}
