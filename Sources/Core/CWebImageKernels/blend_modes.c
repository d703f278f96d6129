#include "words.h"

// No fused multiply-add, so that every processor computes the same bytes.
#pragma STDC FP_CONTRACT OFF

// A premultiplied pixel; components run from 0 to 1.
typedef struct pixel {
    float red, green, blue, alpha;
} pixel;

static inline float lower(float a, float b) { return a < b ? a : b; }
static inline float higher(float a, float b) { return a > b ? a : b; }

static inline float component(uint32_t word, int shift, float unit) {
    return (float)(int32_t)((word >> shift) & 0xFF) * unit;
}

// `unit` is the value of 1 in a byte.
static inline pixel unpacked(uint32_t word, float unit) {
    return (pixel){
        component(word, 0, unit), component(word, 8, unit), component(word, 16, unit), component(word, 24, unit)};
}

static inline uint32_t rounded(float value, float limit) {
    return (uint32_t)(int32_t)(lower(higher(value, 0), limit) * 255 + 0.5f);
}

// Clamps color to alpha, which rounding can exceed.
static inline uint32_t packed(pixel value) {
    float alpha = lower(higher(value.alpha, 0), 1);
    return rounded(value.red, alpha) | rounded(value.green, alpha) << 8 | rounded(value.blue, alpha) << 16
        | rounded(alpha, 1) << 24;
}

// Porter and Duff, "Compositing Digital Images", 1984: the factor of the source.
static inline float source_share(cwi_blend_mode mode, float below) {
    switch (mode) {
    case CWI_BLEND_SOURCE:
    case CWI_BLEND_SOURCE_OVER:
    case CWI_BLEND_ADD:
        return 1;
    case CWI_BLEND_SOURCE_IN:
    case CWI_BLEND_SOURCE_ATOP:
        return below;
    case CWI_BLEND_SOURCE_OUT:
    case CWI_BLEND_DESTINATION_OVER:
    case CWI_BLEND_DESTINATION_ATOP:
    case CWI_BLEND_XOR:
        return 1 - below;
    default:
        return 0;
    }
}

// The factor of the destination.
static inline float destination_share(cwi_blend_mode mode, float above) {
    switch (mode) {
    case CWI_BLEND_DESTINATION:
    case CWI_BLEND_DESTINATION_OVER:
    case CWI_BLEND_ADD:
        return 1;
    case CWI_BLEND_DESTINATION_IN:
    case CWI_BLEND_DESTINATION_ATOP:
        return above;
    case CWI_BLEND_SOURCE_OVER:
    case CWI_BLEND_SOURCE_ATOP:
    case CWI_BLEND_DESTINATION_OUT:
    case CWI_BLEND_XOR:
        return 1 - above;
    default:
        return 0;
    }
}

static inline float dodged(float s, float sa, float d, float da) {
    float room = sa - s;
    float burnt = room > 0 ? sa * sa * d / room : sa * da;
    return d > 0 ? lower(burnt, sa * da) : 0;
}

static inline float burned(float s, float sa, float d, float da) {
    float loss = s > 0 ? sa * sa * (da - d) / s : sa * da;
    float rest = sa * da - lower(loss, sa * da);
    return d < da ? rest : sa * da;
}

static inline float hard_lit(float s, float sa, float d, float da) {
    return 2 * s < sa ? 2 * s * d : sa * da - 2 * (da - d) * (sa - s);
}

static inline float soft_lit(float s, float sa, float d, float da) {
    float part = da > 0 ? d / da : 0;
    float dark = d * sa - d * (1 - part) * (sa - 2 * s);
    float polynomial = ((16 * part - 12) * part + 3) * d;
    float root = __builtin_elementwise_sqrt(d * da) - d;
    float light = d * sa + (2 * s - sa) * (4 * d <= da ? polynomial : root);
    return 2 * s <= sa ? dark : light;
}

// The blend functions of W3C, "Compositing and Blending Level 1", 9.1, times both alphas.
static inline float mixed(cwi_blend_mode mode, float s, float sa, float d, float da) {
    switch (mode) {
    case CWI_BLEND_MULTIPLY:
        return s * d;
    case CWI_BLEND_SCREEN:
        return s * da + d * sa - s * d;
    case CWI_BLEND_OVERLAY:
        return hard_lit(d, da, s, sa);
    case CWI_BLEND_DARKEN:
        return lower(s * da, d * sa);
    case CWI_BLEND_LIGHTEN:
        return higher(s * da, d * sa);
    case CWI_BLEND_COLOR_DODGE:
        return dodged(s, sa, d, da);
    case CWI_BLEND_COLOR_BURN:
        return burned(s, sa, d, da);
    case CWI_BLEND_HARD_LIGHT:
        return hard_lit(s, sa, d, da);
    case CWI_BLEND_SOFT_LIGHT:
        return soft_lit(s, sa, d, da);
    case CWI_BLEND_DIFFERENCE:
        return higher(s * da, d * sa) - lower(s * da, d * sa);
    case CWI_BLEND_EXCLUSION:
        return s * da + d * sa - 2 * s * d;
    default:
        return 0;
    }
}

static inline float luminosity(pixel p) { return 0.3f * p.red + 0.59f * p.green + 0.11f * p.blue; }
static inline float lowest(pixel p) { return lower(lower(p.red, p.green), p.blue); }
static inline float highest(pixel p) { return higher(higher(p.red, p.green), p.blue); }
static inline float saturation(pixel p) { return highest(p) - lowest(p); }

static inline pixel scaled(pixel p, float factor) {
    return (pixel){p.red * factor, p.green * factor, p.blue * factor, p.alpha};
}

// Moves the color away from or toward `center`.
static inline pixel stretched(pixel p, float center, float factor) {
    return (pixel){
        center + (p.red - center) * factor, center + (p.green - center) * factor, center + (p.blue - center) * factor,
        p.alpha};
}

static inline pixel with_saturation(pixel p, float wanted) {
    float low = lowest(p), range = highest(p) - low;
    float factor = range > 0 ? wanted / range : 0;
    return (pixel){(p.red - low) * factor, (p.green - low) * factor, (p.blue - low) * factor, p.alpha};
}

// Components are clamped to 0 and `limit`, the product of both alphas.
static inline pixel with_luminosity(pixel p, float wanted, float limit) {
    float change = wanted - luminosity(p);
    p = (pixel){p.red + change, p.green + change, p.blue + change, p.alpha};
    float center = luminosity(p), low = lowest(p), high = highest(p);
    float up = low < 0 ? center / higher(center - low, 1e-9f) : 1;
    p = stretched(p, center, up);
    float down = high > limit ? (limit - center) / higher(high - center, 1e-9f) : 1;
    return stretched(p, center, down);
}

// The same specification, 9.2.
static inline pixel mixed_colors(cwi_blend_mode mode, pixel s, pixel d) {
    pixel above = scaled(s, d.alpha), below = scaled(d, s.alpha);
    float limit = s.alpha * d.alpha;
    switch (mode) {
    case CWI_BLEND_HUE:
        return with_luminosity(with_saturation(above, saturation(below)), luminosity(below), limit);
    case CWI_BLEND_SATURATION:
        return with_luminosity(with_saturation(below, saturation(above)), luminosity(below), limit);
    case CWI_BLEND_COLOR:
        return with_luminosity(above, luminosity(below), limit);
    default:
        return with_luminosity(below, luminosity(above), limit);
    }
}

static inline float united(float s, float sa, float d, float da, float both) {
    return s * (1 - da) + d * (1 - sa) + both;
}

static inline __attribute__((always_inline)) pixel blended(cwi_blend_mode mode, pixel s, pixel d) {
    if (mode <= CWI_BLEND_ADD) {
        float above = source_share(mode, d.alpha), below = destination_share(mode, s.alpha);
        return (pixel){
            s.red * above + d.red * below, s.green * above + d.green * below, s.blue * above + d.blue * below,
            s.alpha * above + d.alpha * below};
    }
    float alpha = s.alpha + d.alpha - s.alpha * d.alpha;
    pixel both;
    if (mode < CWI_BLEND_HUE) {
        both = (pixel){
            mixed(mode, s.red, s.alpha, d.red, d.alpha), mixed(mode, s.green, s.alpha, d.green, d.alpha),
            mixed(mode, s.blue, s.alpha, d.blue, d.alpha), 0};
    } else {
        both = mixed_colors(mode, s, d);
    }
    return (pixel){
        united(s.red, s.alpha, d.red, d.alpha, both.red), united(s.green, s.alpha, d.green, d.alpha, both.green),
        united(s.blue, s.alpha, d.blue, d.alpha, both.blue), alpha};
}

static inline __attribute__((always_inline)) void blend_run(
    cwi_blend_mode mode, const uint8_t *restrict source, const uint8_t *restrict backdrop,
    uint8_t *restrict destination, size_t count, float opacity) {
    const float unit = 1.0f / 255;
    for (size_t i = 0; i < count; i++) {
        pixel above = unpacked(load(source, i), unit * opacity), below = unpacked(load(backdrop, i), unit);
        store(destination, i, packed(blended(mode, above, below)));
    }
}

// Each with a constant, so that compilers specialize the loop.
#define RUN(mode) \
    case mode: \
        blend_run(mode, source, backdrop, destination, count, opacity); \
        break
#define BLEND_ANY \
    switch (mode) { \
        RUN(CWI_BLEND_CLEAR); \
        RUN(CWI_BLEND_SOURCE); \
        RUN(CWI_BLEND_SOURCE_OVER); \
        RUN(CWI_BLEND_SOURCE_IN); \
        RUN(CWI_BLEND_SOURCE_OUT); \
        RUN(CWI_BLEND_SOURCE_ATOP); \
        RUN(CWI_BLEND_DESTINATION); \
        RUN(CWI_BLEND_DESTINATION_OVER); \
        RUN(CWI_BLEND_DESTINATION_IN); \
        RUN(CWI_BLEND_DESTINATION_OUT); \
        RUN(CWI_BLEND_DESTINATION_ATOP); \
        RUN(CWI_BLEND_XOR); \
        RUN(CWI_BLEND_ADD); \
        RUN(CWI_BLEND_MULTIPLY); \
        RUN(CWI_BLEND_SCREEN); \
        RUN(CWI_BLEND_OVERLAY); \
        RUN(CWI_BLEND_DARKEN); \
        RUN(CWI_BLEND_LIGHTEN); \
        RUN(CWI_BLEND_COLOR_DODGE); \
        RUN(CWI_BLEND_COLOR_BURN); \
        RUN(CWI_BLEND_HARD_LIGHT); \
        RUN(CWI_BLEND_SOFT_LIGHT); \
        RUN(CWI_BLEND_DIFFERENCE); \
        RUN(CWI_BLEND_EXCLUSION); \
        RUN(CWI_BLEND_HUE); \
        RUN(CWI_BLEND_SATURATION); \
        RUN(CWI_BLEND_COLOR); \
        RUN(CWI_BLEND_LUMINOSITY); \
    }

FOR_EVERY_PROCESSOR
void cwi_blend(
    cwi_blend_mode mode, const uint8_t *restrict source, const uint8_t *restrict backdrop,
    uint8_t *restrict destination, size_t count, float opacity) {
    BLEND_ANY
}

void cwi_blend_portable(
    cwi_blend_mode mode, const uint8_t *restrict source, const uint8_t *restrict backdrop,
    uint8_t *restrict destination, size_t count, float opacity) {
    BLEND_ANY
}
