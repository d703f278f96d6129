#include "CWebImageKernels.h"

#include <string.h>

// Four lanes, which every processor supports or the compiler emulates. Integers throughout, so that all compute the
// same bytes. More lanes do not help, since table lookups take the time (with AVX2, 2 megapixels took 4.2 ms instead of
// 4.3).
typedef int32_t lanes __attribute__((vector_size(16)));

static inline lanes load_lanes(const int32_t *numbers) {
    lanes value;
    memcpy(&value, numbers, sizeof value);
    return value;
}

// Comparisons give lanes of all ones or zeros.
static inline lanes clamp_lanes(lanes value, int32_t high) {
    value &= value > 0;
    lanes is_high = value > high;
    return (value & ~is_high) | (is_high & high);
}

typedef struct color {
    uint8_t red, green, blue;
} color;

static inline color converted(
    uint32_t red, uint32_t green, uint32_t blue, const int32_t *addends, const uint8_t *encoded) {
    lanes sum = load_lanes(addends + red * 4) + load_lanes(addends + (256 + green) * 4)
        + load_lanes(addends + (512 + blue) * 4) + (1 << (CWI_LIGHT_FRACTION_BITS - 1));
    lanes light = clamp_lanes(sum >> CWI_LIGHT_FRACTION_BITS, CWI_LIGHT_LEVELS - 1);
    return (color){encoded[light[0]], encoded[light[1]], encoded[light[2]]};
}

// Rounds to nearest, and clamps color to alpha.
static inline uint32_t divided(uint32_t value, uint32_t alpha) {
    uint32_t straight = (value * 255 + alpha / 2) / alpha;
    return straight < 255 ? straight : 255;
}

static inline uint8_t multiplied(uint32_t value, uint32_t alpha) {
    uint32_t product = value * alpha + 128;
    return (uint8_t)((product + (product >> 8)) >> 8);
}

void cwi_convert_colors(
    const uint8_t *source, uint8_t *destination, size_t count, const int32_t *addends, const uint8_t *encoded) {
    for (size_t i = 0; i < count; i++, source += 4, destination += 4) {
        uint32_t alpha = source[3];
        if (alpha == 0xFF) {
            color color = converted(source[0], source[1], source[2], addends, encoded);
            destination[0] = color.red;
            destination[1] = color.green;
            destination[2] = color.blue;
            destination[3] = 0xFF;
        } else if (alpha == 0) {
            memset(destination, 0, 4);
        } else {
            color color = converted(
                divided(source[0], alpha), divided(source[1], alpha), divided(source[2], alpha), addends, encoded);
            destination[0] = multiplied(color.red, alpha);
            destination[1] = multiplied(color.green, alpha);
            destination[2] = multiplied(color.blue, alpha);
            destination[3] = (uint8_t)alpha;
        }
    }
}

void cwi_map_tones(const uint8_t *source, uint8_t *destination, size_t count, const uint8_t *tables) {
    for (size_t i = 0; i < count; i++, source += 4, destination += 4) {
        uint32_t alpha = source[3];
        for (int channel = 0; channel < 3; channel++) {
            const uint8_t *table = tables + channel * 256;
            if (alpha == 0xFF) {
                destination[channel] = table[source[channel]];
            } else {
                destination[channel] =
                    alpha == 0 ? 0 : multiplied(table[divided(source[channel], alpha)], alpha);
            }
        }
        destination[3] = (uint8_t)alpha;
    }
}

void cwi_make_opaque(uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < count; i++) pixels[i * 4 + 3] = 0xFF;
}
