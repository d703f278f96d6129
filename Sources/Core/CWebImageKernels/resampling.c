#include "CWebImageKernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_AVX2_PATH 1
#elif defined(__aarch64__)
#include <arm_neon.h>
#define HAS_NEON_PATH 1
#endif

static inline int32_t clamp(int32_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : value;
}

// Sums the bytes from `from` to the end of the row.
static void sum_columns(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t from, size_t byte_count, cwi_filter filter,
    size_t output_row, int16_t *row) {
    const int16_t *weights = filter.weights + output_row * filter.stride;
    size_t first = (size_t)filter.first[output_row];
    size_t available = row_limit - first;
    size_t tap_count = filter.stride < available ? filter.stride : available;
    int shift = filter.precision - CWI_INTERMEDIATE_BITS;
    for (size_t x = from; x < byte_count; x++) {
        int32_t sum = 1 << (shift - 1);
        for (size_t tap = 0; tap < tap_count; tap++) {
            sum += weights[tap] * source[(first + tap) * source_stride + x];
        }
        row[x] = (int16_t)clamp(sum >> shift, INT16_MIN, INT16_MAX);
    }
}

void cwi_resample_vertically_portable(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t width, cwi_filter filter, size_t output_row,
    int16_t *row) {
    sum_columns(source, source_stride, row_limit, 0, width * 4, filter, output_row, row);
}

void cwi_resample_horizontally_portable(const int16_t *row, cwi_filter filter, uint8_t *destination, size_t width) {
    int shift = filter.precision + CWI_INTERMEDIATE_BITS;
    for (size_t x = 0; x < width; x++) {
        const int16_t *weights = filter.weights + x * filter.stride;
        const int16_t *input = row + (size_t)filter.first[x] * 4;
        int32_t sums[4];
        for (int channel = 0; channel < 4; channel++) sums[channel] = 1 << (shift - 1);
        for (size_t tap = 0; tap < filter.stride; tap++) {
            for (int channel = 0; channel < 4; channel++) sums[channel] += weights[tap] * input[tap * 4 + channel];
        }
        int32_t alpha = clamp(sums[3] >> shift, 0, 255);
        for (int channel = 0; channel < 3; channel++) {
            destination[x * 4 + channel] = (uint8_t)clamp(sums[channel] >> shift, 0, alpha);
        }
        destination[x * 4 + 3] = (uint8_t)alpha;
    }
}

#if HAS_AVX2_PATH

// Two rows at a time: their bytes are interleaved, so that one multiply-add weighs both.
__attribute__((target("avx2"))) static void resample_vertically_avx2(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t width, cwi_filter filter, size_t output_row,
    int16_t *row) {
    const int16_t *weights = filter.weights + output_row * filter.stride;
    size_t first = (size_t)filter.first[output_row];
    size_t available = row_limit - first;
    size_t tap_count = filter.stride < available ? filter.stride : available;
    int shift = filter.precision - CWI_INTERMEDIATE_BITS;
    const __m256i zero = _mm256_setzero_si256();
    const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
    const __m128i shift_count = _mm_cvtsi32_si128(shift);
    size_t byte_count = width * 4, x = 0;
    for (; x + 32 <= byte_count; x += 32) {
        __m256i sum0 = half, sum1 = half, sum2 = half, sum3 = half;
        const uint8_t *column = source + first * source_stride + x;
        for (size_t tap = 0; tap < tap_count; tap += 2) {
            // An odd last row is paired with itself at weight 0.
            bool has_pair = tap + 1 < tap_count;
            __m256i a = _mm256_loadu_si256((const __m256i *)(column + tap * source_stride));
            __m256i b = _mm256_loadu_si256((const __m256i *)(column + (tap + has_pair) * source_stride));
            uint32_t pair = (uint16_t)weights[tap] | (has_pair ? (uint32_t)(uint16_t)weights[tap + 1] << 16 : 0);
            __m256i factors = _mm256_set1_epi32((int32_t)pair);
            __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
            sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), factors));
            sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), factors));
            sum2 = _mm256_add_epi32(sum2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), factors));
            sum3 = _mm256_add_epi32(sum3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), factors));
        }
        __m256i packed0 = _mm256_packs_epi32(_mm256_sra_epi32(sum0, shift_count), _mm256_sra_epi32(sum1, shift_count));
        __m256i packed1 = _mm256_packs_epi32(_mm256_sra_epi32(sum2, shift_count), _mm256_sra_epi32(sum3, shift_count));
        _mm256_storeu_si256((__m256i *)(row + x), _mm256_permute2x128_si256(packed0, packed1, 0x20));
        _mm256_storeu_si256((__m256i *)(row + x + 16), _mm256_permute2x128_si256(packed0, packed1, 0x31));
    }
    sum_columns(source, source_stride, row_limit, x, byte_count, filter, output_row, row);
}

// Four pixels at a time: pixels are paired channel by channel, so that one multiply-add weighs two.
__attribute__((target("avx2"))) static void resample_horizontally_avx2(
    const int16_t *row, cwi_filter filter, uint8_t *destination, size_t width) {
    int shift = filter.precision + CWI_INTERMEDIATE_BITS;
    const __m128i shift_count = _mm_cvtsi32_si128(shift);
    const __m128i half = _mm_set1_epi32(1 << (shift - 1));
    const __m256i pair_channels = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    const __m256i spread_weights = _mm256_setr_epi8(
        0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    const __m128i spread_alpha = _mm_setr_epi8(3, 3, 3, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    for (size_t x = 0; x < width; x++) {
        const int16_t *weights = filter.weights + x * filter.stride;
        const int16_t *input = row + (size_t)filter.first[x] * 4;
        __m256i sums = _mm256_setzero_si256();
        for (size_t tap = 0; tap < filter.stride; tap += 4) {
            __m256i pixels = _mm256_loadu_si256((const __m256i *)(input + tap * 4));
            __m256i factors = _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(weights + tap)));
            pixels = _mm256_shuffle_epi8(pixels, pair_channels);
            factors = _mm256_shuffle_epi8(factors, spread_weights);
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pixels, factors));
        }
        __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
        sum = _mm_sra_epi32(_mm_add_epi32(sum, half), shift_count);
        sum = _mm_packus_epi16(_mm_packs_epi32(sum, sum), sum);
        sum = _mm_min_epu8(sum, _mm_shuffle_epi8(sum, spread_alpha));
        uint32_t pixel = (uint32_t)_mm_cvtsi128_si32(sum);
        __builtin_memcpy(destination + x * 4, &pixel, 4);
    }
}

static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }

#endif

#if HAS_NEON_PATH

// Every 64-bit ARM processor has NEON.
static void resample_vertically_neon(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t width, cwi_filter filter, size_t output_row,
    int16_t *row) {
    const int16_t *weights = filter.weights + output_row * filter.stride;
    size_t first = (size_t)filter.first[output_row];
    size_t available = row_limit - first;
    size_t tap_count = filter.stride < available ? filter.stride : available;
    int shift = filter.precision - CWI_INTERMEDIATE_BITS;
    const int32x4_t half = vdupq_n_s32(1 << (shift - 1)), shift_count = vdupq_n_s32(-shift);
    size_t byte_count = width * 4, x = 0;
    for (; x + 16 <= byte_count; x += 16) {
        int32x4_t sum0 = half, sum1 = half, sum2 = half, sum3 = half;
        const uint8_t *column = source + first * source_stride + x;
        for (size_t tap = 0; tap < tap_count; tap++) {
            uint8x16_t bytes = vld1q_u8(column + tap * source_stride);
            int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
            int16x8_t high = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(bytes)));
            sum0 = vmlal_n_s16(sum0, vget_low_s16(low), weights[tap]);
            sum1 = vmlal_n_s16(sum1, vget_high_s16(low), weights[tap]);
            sum2 = vmlal_n_s16(sum2, vget_low_s16(high), weights[tap]);
            sum3 = vmlal_n_s16(sum3, vget_high_s16(high), weights[tap]);
        }
        int16x4_t packed0 = vqmovn_s32(vshlq_s32(sum0, shift_count)), packed1 = vqmovn_s32(vshlq_s32(sum1, shift_count));
        int16x4_t packed2 = vqmovn_s32(vshlq_s32(sum2, shift_count)), packed3 = vqmovn_s32(vshlq_s32(sum3, shift_count));
        vst1q_s16(row + x, vcombine_s16(packed0, packed1));
        vst1q_s16(row + x + 8, vcombine_s16(packed2, packed3));
    }
    sum_columns(source, source_stride, row_limit, x, byte_count, filter, output_row, row);
}

// Four pixels at a time, in two independent sums.
static void resample_horizontally_neon(const int16_t *row, cwi_filter filter, uint8_t *destination, size_t width) {
    int shift = filter.precision + CWI_INTERMEDIATE_BITS;
    const int32x4_t half = vdupq_n_s32(1 << (shift - 1)), shift_count = vdupq_n_s32(-shift);
    for (size_t x = 0; x < width; x++) {
        const int16_t *weights = filter.weights + x * filter.stride;
        const int16_t *input = row + (size_t)filter.first[x] * 4;
        int32x4_t sum = half, other = vdupq_n_s32(0);
        for (size_t tap = 0; tap < filter.stride; tap += 4) {
            int16x8_t pixels = vld1q_s16(input + tap * 4), following = vld1q_s16(input + tap * 4 + 8);
            int16x4_t factors = vld1_s16(weights + tap);
            sum = vmlal_lane_s16(sum, vget_low_s16(pixels), factors, 0);
            other = vmlal_lane_s16(other, vget_high_s16(pixels), factors, 1);
            sum = vmlal_lane_s16(sum, vget_low_s16(following), factors, 2);
            other = vmlal_lane_s16(other, vget_high_s16(following), factors, 3);
        }
        uint16x4_t values = vqmovun_s32(vshlq_s32(vaddq_s32(sum, other), shift_count));
        uint8x8_t bytes = vqmovn_u16(vcombine_u16(values, values));
        bytes = vmin_u8(bytes, vdup_lane_u8(bytes, 3));
        uint32_t pixel = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
        __builtin_memcpy(destination + x * 4, &pixel, 4);
    }
}

#endif

void cwi_resample_vertically(
    const uint8_t *source, size_t source_stride, size_t row_limit, size_t width, cwi_filter filter, size_t output_row,
    int16_t *row) {
#if HAS_AVX2_PATH
    if (has_avx2()) {
        resample_vertically_avx2(source, source_stride, row_limit, width, filter, output_row, row);
        return;
    }
#endif
#if HAS_NEON_PATH
    resample_vertically_neon(source, source_stride, row_limit, width, filter, output_row, row);
#else
    cwi_resample_vertically_portable(source, source_stride, row_limit, width, filter, output_row, row);
#endif
}

void cwi_resample_horizontally(const int16_t *row, cwi_filter filter, uint8_t *destination, size_t width) {
#if HAS_AVX2_PATH
    if (has_avx2()) {
        resample_horizontally_avx2(row, filter, destination, width);
        return;
    }
#endif
#if HAS_NEON_PATH
    resample_horizontally_neon(row, filter, destination, width);
#else
    cwi_resample_horizontally_portable(row, filter, destination, width);
#endif
}
