#include "CWebImageKernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_AVX2_PATH 1
#endif

// W3C PNG, third edition, 9.2: the first byte of a row.
enum { FILTER_NONE, FILTER_SUB, FILTER_UP, FILTER_AVERAGE, FILTER_PAETH };

static inline uint8_t paeth(int left, int above, int corner) {
    int from_left = above - corner, from_above = left - corner, from_corner = from_left + from_above;
    from_left = from_left < 0 ? -from_left : from_left;
    from_above = from_above < 0 ? -from_above : from_above;
    from_corner = from_corner < 0 ? -from_corner : from_corner;
    if (from_left <= from_above && from_left <= from_corner) return (uint8_t)left;
    return (uint8_t)(from_above <= from_corner ? above : corner);
}

// From byte `x` on; those before it are done.
static void unfilter_from(
    size_t x, uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t count, size_t pixel) {
    if (x == 0) {
        // The first pixel's left neighbor is 0.
        for (; x < pixel && x < count; x++) {
            uint8_t predicted = 0;
            if (filter == FILTER_UP || filter == FILTER_PAETH) predicted = above[x];
            if (filter == FILTER_AVERAGE) predicted = above[x] / 2;
            row[x] = (uint8_t)(source[x] + predicted);
        }
    }
    switch (filter) {
    case FILTER_NONE:
        memcpy(row + x, source + x, count - x);
        break;
    case FILTER_SUB:
        for (; x < count; x++) row[x] = (uint8_t)(source[x] + row[x - pixel]);
        break;
    case FILTER_UP:
        for (; x < count; x++) row[x] = (uint8_t)(source[x] + above[x]);
        break;
    case FILTER_AVERAGE:
        for (; x < count; x++) row[x] = (uint8_t)(source[x] + (row[x - pixel] + above[x]) / 2);
        break;
    case FILTER_PAETH:
        for (; x < count; x++) row[x] = (uint8_t)(source[x] + paeth(row[x - pixel], above[x], above[x - pixel]));
        break;
    }
}

bool cwi_png_unfilter_portable(
    uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t byte_count,
    size_t bytes_per_pixel) {
    if (filter > FILTER_PAETH) return false;
    unfilter_from(0, filter, source, above, row, byte_count, bytes_per_pixel);
    return true;
}

#if HAS_AVX2_PATH

#define WITH_AVX2 __attribute__((target("avx2")))

// These three go from pixel to pixel, 3 or 4 bytes in a register, since each needs the previous one. They read and
// write 4 bytes at a time, so the last pixel of a row of 3-byte pixels is left out; each returns where it stopped.

WITH_AVX2 static inline __m128i load_pixel(const uint8_t *bytes) {
    int word;
    memcpy(&word, bytes, 4);
    return _mm_cvtsi32_si128(word);
}

WITH_AVX2 static inline void store_pixel(uint8_t *bytes, __m128i pixel) {
    int word = _mm_cvtsi128_si32(pixel);
    memcpy(bytes, &word, 4);
}

WITH_AVX2 static inline size_t undo_sub(const uint8_t *source, uint8_t *row, size_t count, size_t pixel) {
    __m128i left = _mm_setzero_si128();
    size_t x = 0;
    for (; x + 4 <= count; x += pixel) {
        left = _mm_add_epi8(left, load_pixel(source + x));
        store_pixel(row + x, left);
    }
    return x;
}

WITH_AVX2 static inline size_t undo_average(
    const uint8_t *source, const uint8_t *above, uint8_t *row, size_t count, size_t pixel) {
    const __m128i one = _mm_set1_epi8(1);
    __m128i left = _mm_setzero_si128();
    size_t x = 0;
    for (; x + 4 <= count; x += pixel) {
        __m128i up = load_pixel(above + x);
        // The instruction rounds up; PNG rounds down.
        __m128i excess = _mm_and_si128(_mm_xor_si128(left, up), one);
        __m128i average = _mm_sub_epi8(_mm_avg_epu8(left, up), excess);
        left = _mm_add_epi8(load_pixel(source + x), average);
        store_pixel(row + x, left);
    }
    return x;
}

// With 16 bits per channel, for the signs.
WITH_AVX2 static inline size_t undo_paeth(
    const uint8_t *source, const uint8_t *above, uint8_t *row, size_t count, size_t pixel) {
    __m128i left = _mm_setzero_si128(), corner = left;
    size_t x = 0;
    for (; x + 4 <= count; x += pixel) {
        __m128i up = _mm_cvtepu8_epi16(load_pixel(above + x));
        __m128i from_left = _mm_sub_epi16(up, corner), from_up = _mm_sub_epi16(left, corner);
        __m128i from_corner = _mm_abs_epi16(_mm_add_epi16(from_left, from_up));
        from_left = _mm_abs_epi16(from_left);
        from_up = _mm_abs_epi16(from_up);
        __m128i nearest = _mm_min_epi16(from_corner, _mm_min_epi16(from_left, from_up));
        __m128i predicted = _mm_blendv_epi8(corner, up, _mm_cmpeq_epi16(nearest, from_up));
        predicted = _mm_blendv_epi8(predicted, left, _mm_cmpeq_epi16(nearest, from_left));
        // Bytes, so that sums wrap around within their channel.
        left = _mm_add_epi8(_mm_cvtepu8_epi16(load_pixel(source + x)), predicted);
        corner = up;
        store_pixel(row + x, _mm_packus_epi16(left, left));
    }
    return x;
}

// With a constant pixel size, so that loops are unrolled better.
WITH_AVX2 static inline size_t undo(
    uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t count, size_t pixel) {
    switch (filter) {
    case FILTER_SUB:
        return undo_sub(source, row, count, pixel);
    case FILTER_AVERAGE:
        return undo_average(source, above, row, count, pixel);
    case FILTER_PAETH:
        return undo_paeth(source, above, row, count, pixel);
    default:
        return 0;
    }
}

WITH_AVX2 static size_t undo_with_avx2(
    uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t count, size_t pixel) {
    return pixel == 4 ? undo(filter, source, above, row, count, 4) : undo(filter, source, above, row, count, 3);
}

// Four pixels at a time, while it can load 16 bytes for 12; returns where it stopped.
WITH_AVX2 static size_t rgb_to_rgba_with_avx2(const uint8_t *source, uint8_t *destination, size_t count) {
    const __m128i spread = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    const __m128i opaque = _mm_set1_epi32((int)0xFF000000);
    size_t i = 0;
    for (; i * 3 + 16 <= count * 3; i += 4) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(source + i * 3));
        __m128i pixels = _mm_or_si128(_mm_shuffle_epi8(bytes, spread), opaque);
        _mm_storeu_si128((__m128i *)(destination + i * 4), pixels);
    }
    return i;
}

static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }

#endif

bool cwi_png_unfilter(
    uint8_t filter, const uint8_t *source, const uint8_t *above, uint8_t *row, size_t byte_count,
    size_t bytes_per_pixel) {
    if (filter > FILTER_PAETH) return false;
    size_t done = 0;
#if HAS_AVX2_PATH
    if ((bytes_per_pixel == 3 || bytes_per_pixel == 4) && has_avx2()) {
        done = undo_with_avx2(filter, source, above, row, byte_count, bytes_per_pixel);
    }
#endif
    if (done < byte_count) unfilter_from(done, filter, source, above, row, byte_count, bytes_per_pixel);
    return true;
}

void cwi_rgb_to_rgba(const uint8_t *source, uint8_t *destination, size_t count) {
    size_t i = 0;
#if HAS_AVX2_PATH
    if (has_avx2()) i = rgb_to_rgba_with_avx2(source, destination, count);
#endif
    for (; i < count; i++) {
        memcpy(destination + i * 4, source + i * 3, 3);
        destination[i * 4 + 3] = 0xFF;
    }
}

void cwi_gray_to_rgba(const uint8_t *source, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = source[i] * 0x010101u | 0xFF000000u;
        memcpy(destination + i * 4, &pixel, 4);
    }
}

void cwi_gray_alpha_to_rgba(const uint8_t *source, uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = source[i * 2] * 0x010101u | (uint32_t)source[i * 2 + 1] << 24;
        memcpy(destination + i * 4, &pixel, 4);
    }
}

void cwi_indices_to_rgba(const uint8_t *source, const uint32_t palette[256], uint8_t *destination, size_t count) {
    for (size_t i = 0; i < count; i++) memcpy(destination + i * 4, &palette[source[i]], 4);
}
