#include "words.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_AVX2_PATH 1
#endif

#pragma STDC FP_CONTRACT OFF

enum { STRIP = CWI_STRIP_PIXELS * 4 };

// The rows that enter and leave the box as it moves on from row `y`; edges are repeated.
static inline const uint8_t *entering_row(const uint8_t *source, size_t y, size_t row_count, size_t radius) {
    return source + (y + radius + 1 < row_count ? y + radius + 1 : row_count - 1) * STRIP;
}

static inline const uint8_t *leaving_row(const uint8_t *source, size_t y, size_t radius) {
    return source + (y > radius ? y - radius : 0) * STRIP;
}

// Means of 2 * radius + 1 rows of a strip, rounded to nearest, by a running sum. No quotient of an integer and an odd
// one is halfway between two levels, so floats round correctly for boxes of up to 16,000 rows.
static inline __attribute__((always_inline)) void box_blur(
    const uint8_t *restrict source, uint8_t *restrict destination, size_t row_count, size_t radius) {
    const size_t last = row_count - 1;
    const float inverse = 1.0f / (float)(2 * radius + 1);
    int32_t sums[STRIP];
    // The first row represents itself and all above, the last one those below.
    size_t below = radius < last ? radius : last;
    for (size_t i = 0; i < STRIP; i++) {
        sums[i] = (int32_t)(source[i] * (radius + 1) + source[last * STRIP + i] * (radius - below));
    }
    for (size_t y = 1; y <= below; y++) {
        for (size_t i = 0; i < STRIP; i++) sums[i] += source[y * STRIP + i];
    }
    for (size_t y = 0; y < row_count; y++) {
        const uint8_t *entering = entering_row(source, y, row_count, radius), *leaving = leaving_row(source, y, radius);
        uint8_t *output = destination + y * STRIP;
        for (size_t i = 0; i < STRIP; i++) {
            output[i] = (uint8_t)(int32_t)((float)sums[i] * inverse + 0.5f);
            sums[i] += entering[i] - leaving[i];
        }
    }
}

#if HAS_AVX2_PATH

// Sums of up to LONGEST_NARROW_BOX bytes fit in 16 bits, and can be divided by a multiplication with 2^(16 + shift) /
// length, rounded up: for lengths below 128 the excess is less than 1 / length, too little to reach the next integer.
enum { LONGEST_NARROW_BOX = 127 };

// The same for 32 columns at a time: their even and odd groups of 8 are in two registers.
__attribute__((target("avx2"))) static void narrow_box_blur_avx2(
    const uint8_t *restrict source, uint8_t *restrict destination, size_t row_count, size_t radius) {
    const size_t last = row_count - 1, below = radius < last ? radius : last;
    const uint32_t length = (uint32_t)(2 * radius + 1);
    const int shift = 31 - __builtin_clz(length);
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi16((int16_t)radius);
    const __m256i multiplier = _mm256_set1_epi16((int16_t)(((1u << (16 + shift)) + length - 1) / length));
    const __m128i shift_count = _mm_cvtsi32_si128(shift);
    for (size_t part = 0; part < STRIP; part += 32) {
        const uint8_t *column = source + part;
        __m256i row = _mm256_loadu_si256((const __m256i *)column);
        const __m256i above = _mm256_set1_epi16((int16_t)(radius + 1));
        __m256i low = _mm256_mullo_epi16(_mm256_unpacklo_epi8(row, zero), above);
        __m256i high = _mm256_mullo_epi16(_mm256_unpackhi_epi8(row, zero), above);
        for (size_t y = 1; y <= radius; y++) {
            row = _mm256_loadu_si256((const __m256i *)(column + (y < below ? y : below) * STRIP));
            low = _mm256_add_epi16(low, _mm256_unpacklo_epi8(row, zero));
            high = _mm256_add_epi16(high, _mm256_unpackhi_epi8(row, zero));
        }
        for (size_t y = 0; y < row_count; y++) {
            __m256i first = _mm256_mulhi_epu16(_mm256_add_epi16(low, half), multiplier);
            __m256i second = _mm256_mulhi_epu16(_mm256_add_epi16(high, half), multiplier);
            first = _mm256_packus_epi16(_mm256_srl_epi16(first, shift_count), _mm256_srl_epi16(second, shift_count));
            _mm256_storeu_si256((__m256i *)(destination + part + y * STRIP), first);
            __m256i entering = _mm256_loadu_si256((const __m256i *)entering_row(column, y, row_count, radius));
            __m256i leaving = _mm256_loadu_si256((const __m256i *)leaving_row(column, y, radius));
            low = _mm256_add_epi16(low, _mm256_unpacklo_epi8(entering, zero));
            high = _mm256_add_epi16(high, _mm256_unpackhi_epi8(entering, zero));
            low = _mm256_sub_epi16(low, _mm256_unpacklo_epi8(leaving, zero));
            high = _mm256_sub_epi16(high, _mm256_unpackhi_epi8(leaving, zero));
        }
    }
}

#endif

typedef uint32_t quad __attribute__((vector_size(16)));

static inline quad load_quad(const uint8_t *pixels) {
    quad value;
    memcpy(&value, pixels, sizeof value);
    return value;
}

static inline void store_quad(uint8_t *pixels, quad value) { memcpy(pixels, &value, sizeof value); }

// Transposes the strip: columns become rows.
static inline void transpose_strip(
    const uint8_t *restrict strip, uint8_t *restrict destination, size_t column_count, size_t row_count) {
    size_t whole_rows = row_count / 4 * 4, whole_columns = column_count / 4 * 4;
    for (size_t y = 0; y < whole_rows; y += 4) {
        for (size_t x = 0; x < whole_columns; x += 4) {
            const uint8_t *corner = strip + y * STRIP + x * 4;
            quad a = load_quad(corner), b = load_quad(corner + STRIP);
            quad c = load_quad(corner + 2 * STRIP), d = load_quad(corner + 3 * STRIP);
            quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            uint8_t *output = destination + (x * row_count + y) * 4;
            store_quad(output, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
            store_quad(output + row_count * 4, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
            store_quad(output + row_count * 8, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
            store_quad(output + row_count * 12, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
        }
    }
    for (size_t x = 0; x < column_count; x++) {
        for (size_t y = x < whole_columns ? whole_rows : 0; y < row_count; y++) {
            memcpy(destination + (x * row_count + y) * 4, strip + y * STRIP + x * 4, 4);
        }
    }
}

typedef void box_blur_function(const uint8_t *source, uint8_t *destination, size_t row_count, size_t radius);

static void blur_columns(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination, box_blur_function *blur) {
    uint8_t *from = scratch, *to = scratch + row_count * STRIP;
    // Rows of a wide image are far apart; side by side they stay in the cache for all passes.
    if (column_count == CWI_STRIP_PIXELS) {
        for (size_t y = 0; y < row_count; y++) memcpy(from + y * STRIP, source + y * stride, STRIP);
    } else {
        memset(from, 0, row_count * STRIP);
        for (size_t y = 0; y < row_count; y++) memcpy(from + y * STRIP, source + y * stride, column_count * 4);
    }
    for (int pass = 0; pass < pass_count; pass++) {
        blur(from, to, row_count, radius);
        uint8_t *blurred = to;
        to = from;
        from = blurred;
    }
    transpose_strip(from, destination, column_count, row_count);
}

static void box_blur_portable(const uint8_t *source, uint8_t *destination, size_t row_count, size_t radius) {
    box_blur(source, destination, row_count, radius);
}

FOR_EVERY_PROCESSOR
static void wide_box_blur(const uint8_t *source, uint8_t *destination, size_t row_count, size_t radius) {
    box_blur(source, destination, row_count, radius);
}

void cwi_blur_columns_portable(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination) {
    blur_columns(
        source, stride, column_count, row_count, radius, pass_count, scratch, destination, box_blur_portable);
}

void cwi_blur_columns(
    const uint8_t *source, size_t stride, size_t column_count, size_t row_count, size_t radius, int pass_count,
    uint8_t *scratch, uint8_t *destination) {
    box_blur_function *blur = wide_box_blur;
#if HAS_AVX2_PATH
    if (2 * radius + 1 <= LONGEST_NARROW_BOX && __builtin_cpu_supports("avx2")) blur = narrow_box_blur_avx2;
#endif
    blur_columns(source, stride, column_count, row_count, radius, pass_count, scratch, destination, blur);
}
