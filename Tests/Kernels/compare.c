// Runs every kernel on noise, compares those that have a plain C variant with it, and prints a checksum of each result:
// the same on every kind of processor. Scripts/test-neon runs it on two.

#include "CWebImageKernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 1 << 16, ROUNDS = 300 };

static uint64_t state = 1;
static int failures = 0;

// Marsaglia, "Xorshift RNGs", 2003.
static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t between(size_t low, size_t high) { return low + (size_t)(next() % (high - low + 1)); }

static void fill(uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(next() >> 24);
}

// Fowler, Noll and Vo's hash.
static uint64_t add(uint64_t sum, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) sum = (sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001B3u;
    return sum;
}

static void expect_same(const char *kernel, const void *one, const void *other, size_t count) {
    if (memcmp(one, other, count) == 0) return;
    fprintf(stderr, "%s: not what the plain kernel makes\n", kernel);
    failures++;
}

static void report(const char *kernel, uint64_t sum) { printf("%s %016llx\n", kernel, (unsigned long long)sum); }

static uint8_t source[CAPACITY], other[CAPACITY], one[CAPACITY], two[CAPACITY], mask[CAPACITY];
static int16_t line_one[CAPACITY], line_two[CAPACITY], weights[CAPACITY];
static int32_t first[CAPACITY];

static void compare_resampling(void) {
    uint64_t rows = 1, columns = 1;
    for (int round = 0; round < ROUNDS; round++) {
        size_t width = between(1, 90), height = between(1, 30), row_stride = width * 4 + 4 * between(0, 5);
        size_t stride = 4 * between(1, 5), output = between(1, 60);
        fill(source, row_stride * height);
        for (size_t i = 0; i < output * stride; i++) weights[i] = (int16_t)((int)between(0, 9000) - 3000);
        int precision = (int)between(13, 16);
        cwi_filter filter = {weights, first, stride, precision};
        first[0] = (int32_t)between(0, height - 1);
        memset(line_one, 0, sizeof line_one);
        memset(line_two, 0, sizeof line_two);
        cwi_resample_vertically(source, row_stride, height, width, filter, 0, line_one);
        cwi_resample_vertically_portable(source, row_stride, height, width, filter, 0, line_two);
        expect_same("resample_vertically", line_one, line_two, width * 8);
        rows = add(rows, line_one, width * 8);
        for (size_t i = 0; i < output; i++) first[i] = (int32_t)between(0, width - 1);
        cwi_resample_horizontally(line_two, filter, one, output);
        cwi_resample_horizontally_portable(line_two, filter, two, output);
        expect_same("resample_horizontally", one, two, output * 4);
        columns = add(columns, one, output * 4);
    }
    report("resample_vertically", rows);
    report("resample_horizontally", columns);
}

static void compare_sampling(void) {
    uint64_t sum = 1;
    for (int phase = 0; phase < CWI_SAMPLING_PHASES; phase++) {
        int before = -phase * 4, after = phase * 64, last = -(255 - phase) * 5;
        int16_t four[] = {(int16_t)before, (int16_t)(16384 - before - after - last), (int16_t)after, (int16_t)last};
        memcpy(weights + phase * 4, four, sizeof four);
    }
    for (int round = 0; round < ROUNDS; round++) {
        size_t width = between(1, 40), height = between(1, 40), stride = width * 4 + 4 * between(0, 5);
        size_t count = between(1, 70);
        fill(source, stride * height);
        int64_t x = (int64_t)between(0, 80ull << 32) - (20ll << 32), y = (int64_t)between(0, 80ull << 32) - (20ll << 32);
        int64_t step_x = (int64_t)between(0, 4ull << 32) - (2ll << 32);
        int64_t step_y = (int64_t)between(0, 4ull << 32) - (2ll << 32);
        cwi_sample_line(source, stride, width, height, weights, x, y, step_x, step_y, one, count);
        cwi_sample_line_portable(source, stride, width, height, weights, x, y, step_x, step_y, two, count);
        expect_same("sample_line", one, two, count * 4);
        sum = add(sum, one, count * 4);
    }
    report("sample_line", sum);
}

static void compare_unfiltering(void) {
    uint64_t sum = 1;
    for (int round = 0; round < ROUNDS; round++) {
        size_t pixel = between(1, 8), count = pixel * between(1, 60);
        uint8_t filter = (uint8_t)between(0, 4);
        fill(source, count);
        fill(other, count);
        cwi_png_unfilter(filter, source, other, one, count, pixel);
        cwi_png_unfilter_portable(filter, source, other, two, count, pixel);
        expect_same("png_unfilter", one, two, count);
        sum = add(sum, one, count);
        cwi_png_filter(source, other, one, two, count, pixel);
        sum = add(sum, one, count + 1);
    }
    report("png_filters", sum);
}

// Kernels that compilers vectorize are compared by checksum.
static void run_others(void) {
    uint64_t pixels = 1, masks = 1, boxes = 1, spread = 1, turned = 1;
    static uint16_t sums[CAPACITY];
    static uint32_t palette[256];
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = between(1, 400);
        fill(source, count * 4);
        fill(other, count * 4);
        fill(mask, count);
        cwi_premultiply(source, count);
        cwi_premultiply(other, count);
        pixels = add(pixels, source, count * 4);
        cwi_unpremultiply(source, one, count);
        pixels = add(pixels, one, count * 4);
        cwi_flatten(source, one, count, 10, 200, 77);
        pixels = add(pixels, one, count * 4);
        memcpy(one, other, count * 4);
        cwi_blend_over(source, one, count);
        pixels = add(pixels, one, count * 4);
        cwi_inverted_cmyk_to_rgba(one, count);
        pixels = add(pixels, one, count * 4);

        cwi_mask(source, mask, one, count);
        masks = add(masks, one, count * 4);
        cwi_blend_over_masked(source, mask, other, count);
        masks = add(masks, other, count * 4);
        for (size_t i = 0; i < count; i++) two[i] = mask[i] / 2;
        cwi_mask_with_border(source, mask, two, 0x968C005A, one, count);
        masks = add(masks, one, count * 4);
        cwi_fill(0x968C005A, one, count);
        masks = add(masks, one, count * 4);

        size_t columns = between(1, 30);
        cwi_shrink_boxes(source, 0, 1, count, columns, sums, one);
        boxes = add(boxes, one, (count + columns - 1) / columns * 4);
        cwi_shrink_boxes(source, 0, between(1, 255), count, columns, sums, one);
        boxes = add(boxes, one, (count + columns - 1) / columns * 4);

        for (int i = 0; i < 256; i++) palette[i] = (uint32_t)next();
        cwi_rgb_to_rgba(source, one, count);
        spread = add(spread, one, count * 4);
        cwi_gray_to_rgba(source, one, count);
        spread = add(spread, one, count * 4);
        cwi_gray_alpha_to_rgba(source, one, count);
        spread = add(spread, one, count * 4);
        cwi_indices_to_rgba(source, palette, one, count);
        spread = add(spread, one, count * 4);
        cwi_rgba_to_rgb(source, one, count);
        spread = add(spread, one, count * 3);

        size_t width = between(1, 40), height = between(1, 40);
        fill(source, width * height * 4);
        cwi_reorient(source, (ptrdiff_t)(width - 1), (ptrdiff_t)width, -1, one, height, 0, width);
        turned = add(turned, one, width * height * 4);
    }
    report("pixels", pixels);
    report("masks", masks);
    report("shrink_boxes", boxes);
    report("spread", spread);
    report("reorient", turned);
}

static void run_colors(void) {
    static int32_t addends[3 * 256 * 4];
    static uint8_t encoded[CWI_LIGHT_LEVELS], tables[3 * 256];
    for (size_t i = 0; i < 3 * 256 * 4; i++) addends[i] = (int32_t)between(0, 1 << 25) - (1 << 22);
    fill(encoded, sizeof encoded);
    fill(tables, sizeof tables);
    uint64_t sum = 1;
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = between(1, 300);
        fill(source, count * 4);
        cwi_convert_colors(source, one, count, addends, encoded);
        sum = add(sum, one, count * 4);
        cwi_map_tones(source, one, count, tables);
        sum = add(sum, one, count * 4);
    }
    report("colors", sum);
}

// Kernels that mix two images, and those that change colors.
static void compare_effects(void) {
    uint64_t blended = 1, recolored = 1, masked = 1, summed = 1;
    float matrix[20];
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = between(1, 400);
        fill(source, count * 4);
        fill(other, count * 4);
        fill(mask, count * 4);
        cwi_premultiply(source, count);
        cwi_premultiply(other, count);
        cwi_premultiply(mask, count);
        float opacity = round % 3 == 0 ? 1 : (float)between(0, 1000) / 1000;
        for (int mode = CWI_BLEND_CLEAR; mode <= CWI_BLEND_LUMINOSITY; mode++) {
            cwi_blend((cwi_blend_mode)mode, source, other, one, count, opacity);
            cwi_blend_portable((cwi_blend_mode)mode, source, other, two, count, opacity);
            expect_same("blend", one, two, count * 4);
            blended = add(blended, one, count * 4);
        }

        for (int i = 0; i < 20; i++) matrix[i] = (float)between(0, 4000) / 1000 - 2;
        if (round % 2 == 0) {
            // Alpha stays, which has its own loop.
            for (int row = 0; row < 4; row++) matrix[row * 5 + 3] = row == 3;
            matrix[15] = matrix[16] = matrix[17] = matrix[19] = 0;
        }
        cwi_recolor(source, one, count, matrix);
        cwi_recolor_portable(source, two, count, matrix);
        expect_same("recolor", one, two, count * 4);
        recolored = add(recolored, one, count * 4);

        // A mask and its inverse add up to the whole.
        for (int by_luminance = 0; by_luminance < 2; by_luminance++) {
            cwi_mask_by_image(source, mask, one, count, by_luminance);
            masked = add(masked, one, count * 4);
            memset(two, 0, count * 4);
            cwi_mix_by_image(source, two, mask, two + count * 4, count, by_luminance);
            expect_same("mix_by_image", one, two + count * 4, count * 4);
            cwi_mix_by_image(source, other, mask, one, count, by_luminance);
            masked = add(masked, one, count * 4);
        }

        uint32_t sums[4], expected[4] = {0, 0, 0, 0};
        for (size_t i = 0; i < count * 4; i++) expected[i % 4] += source[i];
        cwi_sum(source, count, sums);
        expect_same("sum", sums, expected, sizeof sums);
        summed = add(summed, sums, sizeof sums);
    }
    report("blend", blended);
    report("recolor", recolored);
    report("masks by pictures", masked);
    report("sum", summed);
}

static void compare_blurring(void) {
    static uint8_t scratch[2 * 200 * CWI_STRIP_PIXELS * 4];
    uint64_t sum = 1;
    for (int round = 0; round < ROUNDS; round++) {
        size_t columns = between(1, CWI_STRIP_PIXELS), rows = between(1, 200), stride = columns * 4 + 4 * between(0, 5);
        size_t radius = between(1, round % 2 == 0 ? 63 : 300);
        int passes = (int)between(1, 3);
        fill(source, stride * rows);
        cwi_blur_columns(source, stride, columns, rows, radius, passes, scratch, one);
        cwi_blur_columns_portable(source, stride, columns, rows, radius, passes, scratch, two);
        expect_same("blur_columns", one, two, columns * rows * 4);
        sum = add(sum, one, columns * rows * 4);
    }
    report("blur_columns", sum);
}

int main(void) {
    compare_resampling();
    compare_sampling();
    compare_unfiltering();
    run_others();
    run_colors();
    compare_effects();
    compare_blurring();
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
