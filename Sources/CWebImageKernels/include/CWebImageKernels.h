#ifndef CWEBIMAGE_KERNELS_H
#define CWEBIMAGE_KERNELS_H

// Inner loops over pixels, in C because Swift can't compile a function for several kinds of processor. Pixels are 4
// bytes: red, green, blue, alpha. The processor is looked at once at run time; every path gives the same bytes.
// Nothing here allocates or checks a size: the callers do.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Multiplies colour by alpha, rounding to nearest. Returns whether all pixels are opaque.
bool cwi_premultiply(uint8_t *pixels, size_t count);

// Whether every alpha is 255.
bool cwi_is_opaque(const uint8_t *pixels, size_t count);

// Divides colour by alpha, rounding to nearest; clear pixels become 0.
void cwi_unpremultiply(const uint8_t *source, uint8_t *destination, size_t count);

// Lays premultiplied pixels over an opaque colour.
void cwi_flatten(
    const uint8_t *source, uint8_t *destination, size_t count, uint8_t red, uint8_t green, uint8_t blue);

// Lays premultiplied pixels over others (Porter and Duff's "over"), rounding to nearest. The two do not overlap in memory.
void cwi_blend_over(const uint8_t *source, uint8_t *destination, size_t count);

// Turns CMYK into opaque RGBA in place, without a profile: each colour is what its ink and black let through. The bytes
// are 255 minus the amount of ink, as Adobe's programs store it.
void cwi_inverted_cmyk_to_rgba(uint8_t *pixels, size_t count);

// Sets every alpha to 255.
void cwi_make_opaque(uint8_t *pixels, size_t count);

// Light is counted in steps from 0 to CWI_LIGHT_LEVELS - 1; sums of it have as many bits more.
#define CWI_LIGHT_LEVELS (1 << 14)
#define CWI_LIGHT_FRACTION_BITS 12

// Converts premultiplied pixels from one set of lights to another; alpha stays. A value v of channel c (0 to 2) adds
// addends[(c * 256 + v) * 4 + k] to the light of channel k. The sums, rounded and cut to the levels there are, index
// `encoded`, which has CWI_LIGHT_LEVELS bytes. No three addends may add up to more than 31 bits hold.
// Translucent colour is divided by alpha before, as cwi_unpremultiply does, and multiplied after.
void cwi_convert_colors(
    const uint8_t *source, uint8_t *destination, size_t count, const int32_t *addends, const uint8_t *encoded);

// Replaces each colour byte v of channel c (0 to 2) of premultiplied pixels by tables[c * 256 + v]; alpha stays.
void cwi_map_tones(const uint8_t *source, uint8_t *destination, size_t count, const uint8_t *tables);

// How two pictures become one. Porter and Duff's come first, then those that treat each channel alike, then those that look
// at all three; cwi_blend relies on it.
typedef enum cwi_blend_mode {
    CWI_BLEND_CLEAR, CWI_BLEND_SOURCE, CWI_BLEND_SOURCE_OVER, CWI_BLEND_SOURCE_IN, CWI_BLEND_SOURCE_OUT,
    CWI_BLEND_SOURCE_ATOP, CWI_BLEND_DESTINATION, CWI_BLEND_DESTINATION_OVER, CWI_BLEND_DESTINATION_IN,
    CWI_BLEND_DESTINATION_OUT, CWI_BLEND_DESTINATION_ATOP, CWI_BLEND_XOR, CWI_BLEND_ADD,
    CWI_BLEND_MULTIPLY, CWI_BLEND_SCREEN, CWI_BLEND_OVERLAY, CWI_BLEND_DARKEN, CWI_BLEND_LIGHTEN,
    CWI_BLEND_COLOR_DODGE, CWI_BLEND_COLOR_BURN, CWI_BLEND_HARD_LIGHT, CWI_BLEND_SOFT_LIGHT, CWI_BLEND_DIFFERENCE,
    CWI_BLEND_EXCLUSION,
    CWI_BLEND_HUE, CWI_BLEND_SATURATION, CWI_BLEND_COLOR, CWI_BLEND_LUMINOSITY,
} cwi_blend_mode;

// Blends premultiplied pixels with others; all four components of the source count `opacity` times, 0 to 1. No two of the
// three overlap in memory.
void cwi_blend(
    cwi_blend_mode mode, const uint8_t *source, const uint8_t *backdrop, uint8_t *destination, size_t count,
    float opacity);

// The same in plain C, whatever the processor: for tests.
void cwi_blend_portable(
    cwi_blend_mode mode, const uint8_t *source, const uint8_t *backdrop, uint8_t *destination, size_t count,
    float opacity);

// Premultiplied pixels times what a mask lets through: its alpha, or the luminance of its premultiplied colour.
void cwi_mask_by_picture(
    const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count, bool by_luminance);

// Pixels of `inside` as far as the mask lets them through, of `outside` for the rest.
void cwi_mix_by_picture(
    const uint8_t *inside, const uint8_t *outside, const uint8_t *mask, uint8_t *destination, size_t count,
    bool by_luminance);

// Multiplies the straight colour of premultiplied pixels by a matrix of 4 rows (red, green, blue, alpha) and 5 columns (the
// same, and what is added), for components from 0 to 1; results are cut to that range.
void cwi_recolor(const uint8_t *source, uint8_t *destination, size_t count, const float matrix[20]);

// The same in plain C, whatever the processor: for tests.
void cwi_recolor_portable(const uint8_t *source, uint8_t *destination, size_t count, const float matrix[20]);

// As many columns as are blurred at once.
#define CWI_STRIP_PIXELS 16

// Blurs up to CWI_STRIP_PIXELS columns downwards, `pass_count` times by the mean of 2 * radius + 1 pixels, at most 16,000;
// the first and the last pixel of a column stand for those outside. The result lies on its side: `column_count` rows of
// `row_count` pixels, without gaps. `scratch` has room for 2 * row_count * CWI_STRIP_PIXELS pixels.
void cwi_blur_columns(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination);

// The same in plain C, whatever the processor: for tests.
void cwi_blur_columns_portable(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination);

// Sums the components of pixels: 65,535 of them at most.
void cwi_sum(const uint8_t *pixels, size_t count, uint32_t sums[4]);

// Copies rows of a picture that stands in another direction: pixel (x, y) of the destination is the source's pixel
// number origin + x * step_x + y * step_y. The destination has `width` pixels a row, without gaps.
void cwi_reorient(
    const uint8_t *source, ptrdiff_t origin, ptrdiff_t step_x, ptrdiff_t step_y, uint8_t *destination, size_t width,
    size_t first_row, size_t row_count);

// The weights with which one output pixel (or row) sums a run of input pixels: for output i,
// weights[i * stride ..< i * stride + stride] apply to inputs from first[i]. Weights are fixed-point numbers with
// `precision` fraction bits that add up to exactly 1. `stride` is a multiple of 4, padded with weights of 0.
typedef struct cwi_filter {
    const int16_t *weights;
    const int32_t *first;
    size_t stride;
    int precision;
} cwi_filter;

// Fraction bits of the values between the vertical and the horizontal pass: overshoot up to twice the range still fits
// 16 bits.
#define CWI_INTERMEDIATE_BITS 6

// Sums source rows into one row of 16-bit values for each of the 4 * width bytes. `row_limit` is the source's number of
// rows; padding weights never reach beyond it.
void cwi_resample_vertically(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t width, cwi_filter filter, size_t output_row,
    int16_t *row);

// Sums such a row into `width` pixels. Behind its last pixel the row must have 4 more, of any value that fits.
// Colour above alpha, which overshoot can cause, is cut to alpha.
void cwi_resample_horizontally(const int16_t *row, cwi_filter filter, uint8_t *destination, size_t width);

// The same in plain C, whatever the processor: for tests.
void cwi_resample_vertically_portable(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t width, cwi_filter filter, size_t output_row,
    int16_t *row);
void cwi_resample_horizontally_portable(const int16_t *row, cwi_filter filter, uint8_t *destination, size_t width);

// Averages boxes of `columns` by `row_count` pixels, each at most 255, into one row of (width + columns - 1) / columns
// pixels, rounding to nearest. The last box has fewer columns where `width` is no multiple. `sums` is scratch memory for
// 4 * width values.
void cwi_shrink_boxes(
    const uint8_t *source, size_t source_stride, size_t row_count, size_t width, size_t columns, uint16_t *sums,
    uint8_t *destination);

// Weights of four neighbouring pixels for each 256th of the way from the second to the third: 14 fraction bits, each four
// adding up to 1 << 14.
#define CWI_SAMPLING_PHASES 256
#define CWI_SAMPLING_PRECISION 14

// Reads pixels along a straight line through a picture, each out of its 4 by 4 neighbours. Positions count from the
// first pixel's centre in units of 2 ** -32 pixels, and are rounded to 256ths; beyond its edges the picture's last pixels
// go on. Colour above alpha is cut to alpha.
void cwi_sample_line(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, int64_t step_x, int64_t step_y, uint8_t *destination, size_t count);

// The same in plain C, whatever the processor: for tests.
void cwi_sample_line_portable(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, int64_t step_x, int64_t step_y, uint8_t *destination, size_t count);

// Multiplies premultiplied pixels by a mask of one byte a pixel, rounding to nearest. In place where the two are the same.
void cwi_mask(const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count);

// The same, then lays them over others; see cwi_blend_over.
void cwi_blend_over_masked(const uint8_t *source, const uint8_t *mask, uint8_t *destination, size_t count);

// Gives the part of each pixel that `border` says to a premultiplied colour, red in the lowest byte, and the part of the
// picture that is left of `shape`: shape - border of it is seen as it is, and border through the colour.
void cwi_mask_with_border(
    const uint8_t *source, const uint8_t *shape, const uint8_t *border, uint32_t color, uint8_t *destination,
    size_t count);

// Sets `count` pixels to a premultiplied colour, red in the lowest byte.
void cwi_fill(uint32_t color, uint8_t *destination, size_t count);

// Undoes the filter of a PNG row (W3C PNG, third edition, 9): `source` are the bytes behind the one that names the
// filter, `above` is the row before this one, without its filter, or zeros. `row` must not overlap either. Returns false,
// and does nothing, for a filter that does not exist.
bool cwi_png_unfilter(
    uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t byte_count,
    size_t bytes_per_pixel);

// The same in plain C, whatever the processor: for tests.
bool cwi_png_unfilter_portable(
    uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t byte_count,
    size_t bytes_per_pixel);

// Filters a PNG row with the filter that leaves the least: `filtered` gets its name and `byte_count` bytes, `scratch` is
// as long as the row, and no two of the four overlap. `above` is the row before, or zeros.
void cwi_png_filter(
    const uint8_t *row, const uint8_t *above, uint8_t *filtered, uint8_t *scratch, size_t byte_count,
    size_t bytes_per_pixel);

// The same with a filter that is named, 0 to 4.
void cwi_png_filter_with(
    uint8_t filter, const uint8_t *row, const uint8_t *above, uint8_t *filtered, size_t byte_count,
    size_t bytes_per_pixel);

// Where two rows of pixels differ: the first column and the one behind the last; returns false, and tells none, where they
// do not.
bool cwi_changed_columns(const uint8_t *before, const uint8_t *after, size_t count, size_t *first, size_t *end);

// The same for pixels that become clear.
bool cwi_cleared_columns(const uint8_t *before, const uint8_t *after, size_t count, size_t *first, size_t *end);

// Writes the pixels of `after` that differ from `before`, and clear ones for the others; tells how many those are. Returns
// whether the result laid over `before` gives `after`: each pixel that differs is opaque, or covers a clear one.
bool cwi_copy_changes(
    const uint8_t *before, const uint8_t *after, uint8_t *changes, size_t count, size_t *unchanged_count);

// Makes the pixels of `pixels` opaque where those of `source` are so by half or more, and clear elsewhere. Returns whether
// all are opaque.
bool cwi_cut_alpha(const uint8_t *source, uint8_t *pixels, size_t count);

// The first of the nearest among `count` colours, at most 256: all their reds, then greens, then blues, 0 to 255.
size_t cwi_nearest_color(const int16_t *levels, size_t count, int red, int green, int blue);

// Leaves alpha out. Source and destination do not overlap.
void cwi_rgba_to_rgb(const uint8_t *source, uint8_t *destination, size_t count);

// Exchanges red and blue: turns pixels into cairo's ARGB32 and back. The two may be the same memory.
void cwi_swap_red_and_blue(const uint8_t *source, uint8_t *destination, size_t count);

// Spread `count` pixels of other kinds to 4 bytes; alpha is not multiplied in. Source and destination do not overlap.
void cwi_rgb_to_rgba(const uint8_t *source, uint8_t *destination, size_t count);
void cwi_gray_to_rgba(const uint8_t *source, uint8_t *destination, size_t count);
void cwi_gray_alpha_to_rgba(const uint8_t *source, uint8_t *destination, size_t count);
void cwi_indices_to_rgba(const uint8_t *source, const uint32_t palette[256], uint8_t *destination, size_t count);

#endif
