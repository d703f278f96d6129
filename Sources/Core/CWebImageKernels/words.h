#ifndef CWEBIMAGE_KERNELS_WORDS_H
#define CWEBIMAGE_KERNELS_WORDS_H

// Pixels as 32-bit words, for kernels that compilers vectorize.

#include "CWebImageKernels.h"

#include <string.h>

// Functions selected when a program is loaded need glibc's loader, and run before a sanitizer is ready.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_INSTRUMENTED 1
#endif
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(IS_INSTRUMENTED)
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EVERY_PROCESSOR
#endif

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "pixels are handled as little-endian words"
#endif

static inline uint32_t load(const uint8_t *pixels, size_t index) {
    uint32_t word;
    memcpy(&word, pixels + index * 4, 4);
    return word;
}

static inline void store(uint8_t *pixels, size_t index, uint32_t word) { memcpy(pixels + index * 4, &word, 4); }

// Two bytes at bits 0 and 16, each times `factor` / 255 rounded to nearest: x / 255 = (x + x / 256) / 256 for
// x = byte * factor + 128.
static inline uint32_t scale_two(uint32_t bytes, uint32_t factor) {
    uint32_t product = bytes * factor + 0x800080;
    return ((product + ((product >> 8) & 0xFF00FF)) >> 8) & 0xFF00FF;
}

#endif
