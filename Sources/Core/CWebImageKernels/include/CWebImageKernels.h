#ifndef CWEBIMAGE_KERNELS_H
#define CWEBIMAGE_KERNELS_H

// Inner loops over pixels, in C because Swift cannot compile a function for several kinds of processor. Pixels are 4
// bytes: red, green, blue, alpha. The processor is detected once at run time; every variant computes the same bytes.
// Nothing here allocates or checks sizes: the callers do.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Multiplies color by alpha, rounding to nearest. Returns whether all pixels are opaque.
bool cwi_premultiply(uint8_t *pixels, size_t count);

// Returns whether every alpha is 255.
bool cwi_is_opaque(const uint8_t *pixels, size_t count);

// Divides color by alpha, rounding to nearest; transparent pixels become 0.
void cwi_unpremultiply(const uint8_t *source, uint8_t *destination, size_t count);

// Blends premultiplied pixels over an opaque color.
void cwi_flatten(
    const uint8_t *source, uint8_t *destination, size_t count, uint8_t red, uint8_t green, uint8_t blue);

// Blends premultiplied pixels over others (Porter and Duff's "over"), rounding to nearest. The two do not overlap in
// memory.
void cwi_blend_over(const uint8_t *source, uint8_t *destination, size_t count);

// Converts CMYK to opaque RGBA in place, without a profile: each color is what its ink and black let through. The bytes
// are 255 minus the amount of ink, as Adobe's programs store it.
void cwi_inverted_cmyk_to_rgba(uint8_t *pixels, size_t count);

// Sets every alpha to 255.
void cwi_make_opaque(uint8_t *pixels, size_t count);

// Light has levels from 0 to CWI_LIGHT_LEVELS - 1; sums of it have additional fraction bits.
#define CWI_LIGHT_LEVELS (1 << 14)
#define CWI_LIGHT_FRACTION_BITS 12

// Converts premultiplied pixels between RGB color spaces; alpha stays. A value v of channel c (0 to 2) adds addends[(c
// * 256 + v) * 4 + k] to the light of channel k. The sums, rounded and clamped, index `encoded`, which has
// CWI_LIGHT_LEVELS bytes. The sum of three addends must fit in 31 bits. Color is divided by alpha before, as in
// cwi_unpremultiply, and multiplied after.
void cwi_convert_colors(
    const uint8_t *source, uint8_t *destination, size_t count, const int32_t *addends, const uint8_t *encoded);

// Replaces each color byte v of channel c (0 to 2) of premultiplied pixels by tables[c * 256 + v]; alpha stays.
void cwi_map_tones(const uint8_t *source, uint8_t *destination, size_t count, const uint8_t *tables);

// How two images are blended. Porter and Duff's modes come first, then those that treat each channel alike, then those
// that use all three; cwi_blend relies on this order.
typedef enum cwi_blend_mode {
    CWI_BLEND_CLEAR, CWI_BLEND_SOURCE, CWI_BLEND_SOURCE_OVER, CWI_BLEND_SOURCE_IN, CWI_BLEND_SOURCE_OUT,
    CWI_BLEND_SOURCE_ATOP, CWI_BLEND_DESTINATION, CWI_BLEND_DESTINATION_OVER, CWI_BLEND_DESTINATION_IN,
    CWI_BLEND_DESTINATION_OUT, CWI_BLEND_DESTINATION_ATOP, CWI_BLEND_XOR, CWI_BLEND_ADD,
    CWI_BLEND_MULTIPLY, CWI_BLEND_SCREEN, CWI_BLEND_OVERLAY, CWI_BLEND_DARKEN, CWI_BLEND_LIGHTEN,
    CWI_BLEND_COLOR_DODGE, CWI_BLEND_COLOR_BURN, CWI_BLEND_HARD_LIGHT, CWI_BLEND_SOFT_LIGHT, CWI_BLEND_DIFFERENCE,
    CWI_BLEND_EXCLUSION,
    CWI_BLEND_HUE, CWI_BLEND_SATURATION, CWI_BLEND_COLOR, CWI_BLEND_LUMINOSITY,
} cwi_blend_mode;

// Blends premultiplied pixels with others; all four components of the source are multiplied by `opacity`, 0 to 1. The
// three do not overlap in memory.
void cwi_blend(
    cwi_blend_mode mode, const uint8_t *source, const uint8_t *backdrop, uint8_t *destination, size_t count,
    float opacity);

// Plain C on every processor, for tests.
void cwi_blend_portable(
    cwi_blend_mode mode, const uint8_t *source, const uint8_t *backdrop, uint8_t *destination, size_t count,
    float opacity);

// Multiplies premultiplied pixels by a mask: its alpha, or the luminance of its premultiplied color.
void cwi_mask_by_image(
    const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count, bool by_luminance);

// Mixes `inside`, weighted by the mask, and `outside`.
void cwi_mix_by_image(
    const uint8_t *inside, const uint8_t *outside, const uint8_t *mask, uint8_t *destination, size_t count,
    bool by_luminance);

// Multiplies the straight color of premultiplied pixels by a matrix of 4 rows (red, green, blue, alpha) and 5 columns
// (the same, and a constant), for components from 0 to 1; results are clamped.
void cwi_recolor(const uint8_t *source, uint8_t *destination, size_t count, const float matrix[20]);

// Plain C on every processor, for tests.
void cwi_recolor_portable(const uint8_t *source, uint8_t *destination, size_t count, const float matrix[20]);

// The number of columns that are blurred at once.
#define CWI_STRIP_PIXELS 16

// Blurs up to CWI_STRIP_PIXELS columns downward, `pass_count` times by the mean of 2 * radius + 1 pixels, at most
// 16,000; the first and the last pixel of a column are repeated. The result is transposed: `column_count` rows of
// `row_count` pixels, without gaps. `scratch` holds 2 * row_count * CWI_STRIP_PIXELS pixels.
void cwi_blur_columns(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination);

// Plain C on every processor, for tests.
void cwi_blur_columns_portable(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination);

// Sums the components of at most 65,535 pixels.
void cwi_sum(const uint8_t *pixels, size_t count, uint32_t sums[4]);

// Copies rows of a rotated or mirrored image: pixel (x, y) of the destination is the source's pixel number origin + x *
// step_x + y * step_y. The destination has `width` pixels per row, without gaps.
void cwi_reorient(
    const uint8_t *source, ptrdiff_t origin, ptrdiff_t step_x, ptrdiff_t step_y, uint8_t *destination, size_t width,
    size_t first_row, size_t row_count);

// The weights with which an output pixel (or row) sums a run of input pixels: for output i, weights[i * stride ..< i *
// stride + stride] apply to inputs from first[i]. Weights are fixed-point numbers with `precision` fraction bits that
// add up to exactly 1. `stride` is a multiple of 4, padded with weights of 0.
typedef struct cwi_filter {
    const int16_t *weights;
    const int32_t *first;
    size_t stride;
    int precision;
} cwi_filter;

// Fraction bits of the values between the vertical and the horizontal pass: overshoot of up to twice the range fits in
// 16 bits.
#define CWI_INTERMEDIATE_BITS 6

// Sums source rows into one row of 16-bit values for each of the 4 * width bytes. `row_limit` is the number of source
// rows; padding weights never reach beyond it.
void cwi_resample_vertically(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t width, cwi_filter filter, size_t output_row,
    int16_t *row);

// Sums such a row into `width` pixels. The row must have 4 more pixels of any value after its last one. Color above
// alpha, which overshoot can cause, is clamped.
void cwi_resample_horizontally(const int16_t *row, cwi_filter filter, uint8_t *destination, size_t width);

// Plain C on every processor, for tests.
void cwi_resample_vertically_portable(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t width, cwi_filter filter, size_t output_row,
    int16_t *row);
void cwi_resample_horizontally_portable(const int16_t *row, cwi_filter filter, uint8_t *destination, size_t width);

// Averages boxes of `columns` by `row_count` pixels, each at most 255, into one row of (width + columns - 1) / columns
// pixels, rounding to nearest. The last box has fewer columns if `width` is not a multiple. `sums` is scratch memory for
// 4 * width values.
void cwi_shrink_boxes(
    const uint8_t *source, size_t source_stride, size_t row_count, size_t width, size_t columns, uint16_t *sums,
    uint8_t *destination);

// Weights of four adjacent pixels for each 256th of the distance from the second to the third: 14 fraction bits, each
// four adding up to 1 << 14.
#define CWI_SAMPLING_PHASES 256
#define CWI_SAMPLING_PRECISION 14

// Reads pixels along a straight line through an image, each from its 4 by 4 neighbors. Positions count from the first
// pixel's center in units of 2 ** -32 pixels, and are rounded to 256ths; beyond the edges, the last pixels are
// repeated. Color above alpha is clamped.
void cwi_sample_line(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, int64_t step_x, int64_t step_y, uint8_t *destination, size_t count);

// Plain C on every processor, for tests.
void cwi_sample_line_portable(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, int64_t step_x, int64_t step_y, uint8_t *destination, size_t count);

// Multiplies premultiplied pixels by a mask of one byte per pixel, rounding to nearest. Source and destination may be
// the same.
void cwi_mask(const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count);

// The same, then blends them over others; see cwi_blend_over.
void cwi_blend_over_masked(const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count);

// Mixes premultiplied pixels with a premultiplied border color, red in the lowest byte: shape - border of each pixel,
// and border of the color.
void cwi_mask_with_border(
    const uint8_t *source, const uint8_t *shape, const uint8_t *border, uint32_t color, uint8_t *destination,
    size_t count);

// Sets `count` pixels to a premultiplied color, red in the lowest byte.
void cwi_fill(uint32_t color, uint8_t *destination, size_t count);

// Undoes the filter of a PNG row (W3C PNG, third edition, 9): `source` are the bytes after the filter byte, `above` is
// the unfiltered previous row, or zeros. `row` must not overlap either. Returns false for an invalid filter.
bool cwi_png_unfilter(
    uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t byte_count,
    size_t bytes_per_pixel);

// Plain C on every processor, for tests.
bool cwi_png_unfilter_portable(
    uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t byte_count,
    size_t bytes_per_pixel);

// Filters a PNG row with the best filter: `filtered` gets the filter byte and `byte_count` bytes, `scratch` is as long
// as the row, and no two of the four overlap. `above` is the previous row, or zeros.
void cwi_png_filter(
    const uint8_t *row, const uint8_t *above, uint8_t *filtered, uint8_t *scratch, size_t byte_count,
    size_t bytes_per_pixel);

// The same with a given filter, 0 to 4.
void cwi_png_filter_with(
    uint8_t filter, const uint8_t *row, const uint8_t *above, uint8_t *filtered, size_t byte_count,
    size_t bytes_per_pixel);

// Finds the first column in which two rows differ, and the one after the last; returns false if they do not differ.
bool cwi_changed_columns(const uint8_t *before, const uint8_t *after, size_t count, size_t *first, size_t *end);

// The same for pixels that become transparent.
bool cwi_cleared_columns(const uint8_t *before, const uint8_t *after, size_t count, size_t *first, size_t *end);

// Writes the pixels of `after` that differ from `before`, and transparent ones for the others; returns the number of
// the latter in `unchanged_count`. Returns whether blending the result over `before` gives `after`: each different
// pixel is opaque, or covers a transparent one.
bool cwi_copy_changes(
    const uint8_t *before, const uint8_t *after, uint8_t *changes, size_t count, size_t *unchanged_count);

// Makes pixels opaque if those of `source` have at least half alpha, else transparent. Returns whether all are opaque.
bool cwi_cut_alpha(const uint8_t *source, uint8_t *pixels, size_t count);

// Returns the first of the nearest among `count` colors, at most 256: all reds, then greens, then blues, 0 to 255.
size_t cwi_nearest_color(const int16_t *levels, size_t count, int red, int green, int blue);

// Drops alpha. Source and destination do not overlap.
void cwi_rgba_to_rgb(const uint8_t *source, uint8_t *destination, size_t count);

// Swaps red and blue: converts pixels to cairo's ARGB32 and back. The two may be the same memory.
void cwi_swap_red_and_blue(const uint8_t *source, uint8_t *destination, size_t count);

// Convert `count` pixels of other kinds to 4 bytes, without premultiplying. Source and destination do not overlap.
void cwi_rgb_to_rgba(const uint8_t *source, uint8_t *destination, size_t count);
void cwi_gray_to_rgba(const uint8_t *source, uint8_t *destination, size_t count);
void cwi_gray_alpha_to_rgba(const uint8_t *source, uint8_t *destination, size_t count);
void cwi_indices_to_rgba(const uint8_t *source, const uint32_t palette[256], uint8_t *destination, size_t count);

// How colors of 16 bits become sRGB. Tables have 65,536 entries; those of light are indexed by light from 0 to 1.
typedef struct cwi_deep_conversion {
    // From each channel's level to linear light, 0 to 1.
    const float *light[3];
    // From luminance to the gain of the display's system gamma (HLG), or NULL.
    const float *system_gain;
    float luminance[3];
    // From the light of the brightest channel to the gain of tone mapping, or NULL.
    const float *tone_gain;
    // By rows, from the file's light to sRGB's, where 1 is white. Colors outside are clipped per channel.
    float matrix[9];
    // From sRGB's light to sRGB's level of 16 bits.
    const uint16_t *encoded;
} cwi_deep_conversion;

// Converts straight RGBA of 16 bits a channel to premultiplied RGBA of 8 bits, with ordered dithering. `row` is the
// number of the row in the image. Without a conversion, colors are sRGB already. Returns whether all are opaque.
bool cwi_convert_deep(
    const uint16_t *source, uint8_t *destination, size_t count, size_t row, const cwi_deep_conversion *conversion);

#endif
