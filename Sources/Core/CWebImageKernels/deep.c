#include "CWebImageKernels.h"

// 8 × 8 thresholds in 64ths (Bayer, 1973), less than 1 each, so that levels of exactly 8 bits stay as they are.
static const uint8_t thresholds[8][8] = {
    {0, 32, 8, 40, 2, 34, 10, 42},  {48, 16, 56, 24, 50, 18, 58, 26}, {12, 44, 4, 36, 14, 46, 6, 38},
    {60, 28, 52, 20, 62, 30, 54, 22}, {3, 35, 11, 43, 1, 33, 9, 41},  {51, 19, 59, 27, 49, 17, 57, 25},
    {15, 47, 7, 39, 13, 45, 5, 37}, {63, 31, 55, 23, 61, 29, 53, 21},
};

// 257 is the step between two levels of 8 bits.
static inline uint8_t dithered(uint32_t value, uint32_t threshold) { return (uint8_t)((value + threshold * 257 / 64) / 257); }

static inline uint8_t rounded(uint32_t value) { return (uint8_t)((value + 128) / 257); }

static inline float limited(float value, float low, float high) { return value < low ? low : value > high ? high : value; }

static inline uint32_t level(float value) { return (uint32_t)(limited(value, 0, 1) * 65535 + 0.5f); }

static inline void convert(const uint16_t *source, uint32_t output[3], const cwi_deep_conversion *conversion) {
    float light[3], color[3];
    for (int channel = 0; channel < 3; channel++) light[channel] = conversion->light[channel][source[channel]];
    if (conversion->system_gain) {
        float luminance = 0;
        for (int channel = 0; channel < 3; channel++) luminance += conversion->luminance[channel] * light[channel];
        float gain = conversion->system_gain[level(luminance)];
        for (int channel = 0; channel < 3; channel++) light[channel] *= gain;
    }
    if (conversion->tone_gain) {
        float brightest = light[0] > light[1] ? light[0] : light[1];
        float gain = conversion->tone_gain[level(brightest > light[2] ? brightest : light[2])];
        for (int channel = 0; channel < 3; channel++) light[channel] *= gain;
    }
    for (int row = 0; row < 3; row++) {
        const float *factors = conversion->matrix + row * 3;
        color[row] = factors[0] * light[0] + factors[1] * light[1] + factors[2] * light[2];
    }
    for (int channel = 0; channel < 3; channel++) output[channel] = conversion->encoded[level(color[channel])];
}

bool cwi_convert_deep(
    const uint16_t *source, uint8_t *destination, size_t count, size_t row, const cwi_deep_conversion *conversion) {
    const uint8_t *pattern = thresholds[row % 8];
    bool is_opaque = true;
    for (size_t index = 0; index < count; index++, source += 4, destination += 4) {
        uint32_t color[3] = {source[0], source[1], source[2]}, alpha = source[3], threshold = pattern[index % 8];
        if (conversion) convert(source, color, conversion);
        if (alpha == 65535) {
            for (int channel = 0; channel < 3; channel++) destination[channel] = dithered(color[channel], threshold);
            destination[3] = 255;
            continue;
        }
        is_opaque = false;
        destination[3] = rounded(alpha);
        for (int channel = 0; channel < 3; channel++) {
            uint8_t product = dithered((uint32_t)((uint64_t)color[channel] * alpha / 65535), threshold);
            // Dithering may round a color up past its alpha.
            destination[channel] = product < destination[3] ? product : destination[3];
        }
    }
    return is_opaque;
}
