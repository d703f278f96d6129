#include "words.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_AVX2_PATH 1
#elif defined(__aarch64__)
#include <arm_neon.h>
#define HAS_NEON_PATH 1
#endif

// The fraction bits of values after the horizontal sums; overshoot still fits in 16 bits.
enum { INTERMEDIATE_BITS = 6 };
enum { FIRST_SHIFT = CWI_SAMPLING_PRECISION - INTERMEDIATE_BITS, LAST_SHIFT = CWI_SAMPLING_PRECISION + INTERMEDIATE_BITS };

typedef struct neighbors {
    const uint8_t *pixels;
    size_t stride;
    const int16_t *horizontal, *vertical;
} neighbors;

static inline size_t clamp_index(int64_t index, size_t count) {
    return index < 0 ? 0 : index >= (int64_t)count ? count - 1 : (size_t)index;
}

// Finds the 4 by 4 pixels around a position; at the edges they are copied to `block`.
static inline neighbors find_neighbors(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, uint8_t block[64]) {
    const int64_t half_phase = 1ll << (31 - 8);
    x += half_phase;
    y += half_phase;
    int64_t left = (x >> 32) - 1, top = (y >> 32) - 1;
    neighbors found = {
        .horizontal = weights + ((x >> 24) & 255) * 4,
        .vertical = weights + ((y >> 24) & 255) * 4,
    };
    if (left >= 0 && top >= 0 && left + 4 <= (int64_t)width && top + 4 <= (int64_t)height) {
        found.pixels = source + (size_t)top * source_stride + (size_t)left * 4;
        found.stride = source_stride;
        return found;
    }
    for (int row = 0; row < 4; row++) {
        const uint8_t *line = source + clamp_index(top + row, height) * source_stride;
        for (int column = 0; column < 4; column++) {
            memcpy(block + row * 16 + column * 4, line + clamp_index(left + column, width) * 4, 4);
        }
    }
    found.pixels = block;
    found.stride = 16;
    return found;
}

static inline int32_t clamp(int32_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : value;
}

void cwi_sample_line_portable(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, int64_t step_x, int64_t step_y, uint8_t *destination, size_t count) {
    uint8_t block[64];
    for (size_t i = 0; i < count; i++, x += step_x, y += step_y) {
        neighbors around = find_neighbors(source, source_stride, width, height, weights, x, y, block);
        int32_t values[4];
        for (int channel = 0; channel < 4; channel++) {
            int32_t sum = 1 << (LAST_SHIFT - 1);
            for (int row = 0; row < 4; row++) {
                const uint8_t *line = around.pixels + (size_t)row * around.stride;
                int32_t part = 1 << (FIRST_SHIFT - 1);
                for (int column = 0; column < 4; column++) {
                    part += around.horizontal[column] * line[column * 4 + channel];
                }
                sum += around.vertical[row] * (part >> FIRST_SHIFT);
            }
            values[channel] = clamp(sum >> LAST_SHIFT, 0, 255);
        }
        for (int channel = 0; channel < 4; channel++) {
            int32_t value = values[channel] < values[3] ? values[channel] : values[3];
            destination[i * 4 + (size_t)channel] = (uint8_t)value;
        }
    }
}

#if HAS_AVX2_PATH

// The weighted sum of four adjacent pixels, channel by channel.
__attribute__((target("avx2"))) static inline __m128i sum_row(
    const uint8_t *pixels, __m256i pair_channels, __m256i factors) {
    __m256i values = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)pixels));
    __m256i sums = _mm256_madd_epi16(_mm256_shuffle_epi8(values, pair_channels), factors);
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(1 << (FIRST_SHIFT - 1))), FIRST_SHIFT);
}

__attribute__((target("avx2"))) static void sample_line_avx2(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, int64_t step_x, int64_t step_y, uint8_t *destination, size_t count) {
    const __m256i pair_channels = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    const __m256i spread_weights = _mm256_setr_epi8(
        0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    const __m128i spread_alpha = _mm_setr_epi8(3, 3, 3, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i half = _mm_set1_epi32(1 << (LAST_SHIFT - 1));
    uint8_t block[64];
    for (size_t i = 0; i < count; i++, x += step_x, y += step_y) {
        neighbors around = find_neighbors(source, source_stride, width, height, weights, x, y, block);
        __m256i across = _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)around.horizontal));
        across = _mm256_shuffle_epi8(across, spread_weights);
        const uint8_t *line = around.pixels;
        __m128i row0 = sum_row(line, pair_channels, across);
        __m128i row1 = sum_row(line + around.stride, pair_channels, across);
        __m128i row2 = sum_row(line + around.stride * 2, pair_channels, across);
        __m128i row3 = sum_row(line + around.stride * 3, pair_channels, across);
        // The values of two rows side by side in 16 bits each, for multiply-add in pairs.
        __m128i low = _mm_blend_epi16(row0, _mm_slli_epi32(row1, 16), 0xAA);
        __m128i high = _mm_blend_epi16(row2, _mm_slli_epi32(row3, 16), 0xAA);
        __m128i down = _mm_loadl_epi64((const __m128i *)around.vertical);
        __m128i sum = _mm_add_epi32(
            _mm_madd_epi16(low, _mm_shuffle_epi32(down, 0x00)), _mm_madd_epi16(high, _mm_shuffle_epi32(down, 0x55)));
        sum = _mm_srai_epi32(_mm_add_epi32(sum, half), LAST_SHIFT);
        sum = _mm_packus_epi16(_mm_packs_epi32(sum, sum), sum);
        sum = _mm_min_epu8(sum, _mm_shuffle_epi8(sum, spread_alpha));
        store(destination, i, (uint32_t)_mm_cvtsi128_si32(sum));
    }
}

#endif

#if HAS_NEON_PATH

static inline int16x4_t sum_row(const uint8_t *pixels, int16x4_t factors) {
    uint8x16_t bytes = vld1q_u8(pixels);
    int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
    int16x8_t high = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(bytes)));
    int32x4_t sum = vmlal_lane_s16(vdupq_n_s32(1 << (FIRST_SHIFT - 1)), vget_low_s16(low), factors, 0);
    sum = vmlal_lane_s16(sum, vget_high_s16(low), factors, 1);
    sum = vmlal_lane_s16(sum, vget_low_s16(high), factors, 2);
    sum = vmlal_lane_s16(sum, vget_high_s16(high), factors, 3);
    return vmovn_s32(vshrq_n_s32(sum, FIRST_SHIFT));
}

static void sample_line_neon(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, int64_t step_x, int64_t step_y, uint8_t *destination, size_t count) {
    uint8_t block[64];
    for (size_t i = 0; i < count; i++, x += step_x, y += step_y) {
        neighbors around = find_neighbors(source, source_stride, width, height, weights, x, y, block);
        int16x4_t across = vld1_s16(around.horizontal), down = vld1_s16(around.vertical);
        const uint8_t *line = around.pixels;
        int32x4_t sum = vdupq_n_s32(1 << (LAST_SHIFT - 1));
        sum = vmlal_lane_s16(sum, sum_row(line, across), down, 0);
        sum = vmlal_lane_s16(sum, sum_row(line + around.stride, across), down, 1);
        sum = vmlal_lane_s16(sum, sum_row(line + around.stride * 2, across), down, 2);
        sum = vmlal_lane_s16(sum, sum_row(line + around.stride * 3, across), down, 3);
        uint16x4_t values = vqmovun_s32(vshrq_n_s32(sum, LAST_SHIFT));
        uint8x8_t bytes = vqmovn_u16(vcombine_u16(values, values));
        bytes = vmin_u8(bytes, vdup_lane_u8(bytes, 3));
        store(destination, i, vget_lane_u32(vreinterpret_u32_u8(bytes), 0));
    }
}

#endif

void cwi_sample_line(
    const uint8_t *source, size_t source_stride, size_t width, size_t height, const int16_t *weights, int64_t x,
    int64_t y, int64_t step_x, int64_t step_y, uint8_t *destination, size_t count) {
#if HAS_AVX2_PATH
    if (__builtin_cpu_supports("avx2")) {
        sample_line_avx2(
            source, source_stride, width, height, weights, x, y, step_x, step_y, destination, count);
        return;
    }
#endif
#if HAS_NEON_PATH
    sample_line_neon(source, source_stride, width, height, weights, x, y, step_x, step_y, destination, count);
#else
    cwi_sample_line_portable(
        source, source_stride, width, height, weights, x, y, step_x, step_y, destination, count);
#endif
}
