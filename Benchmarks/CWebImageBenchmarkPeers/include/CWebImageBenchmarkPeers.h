#ifndef CWEBIMAGE_BENCHMARK_PEERS_H
#define CWEBIMAGE_BENCHMARK_PEERS_H

// What the benchmarks compare with: C libraries used in the plainest way. Only for data known to be good.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats.h"

// Its functions are called as they are.
#if __has_include(<lmdb.h>)
#include <lmdb.h>
#endif

// Decodes a JPEG to RGBA with libjpeg-turbo's own memory source and one call a row. False if it does not fit.
bool peer_decode_jpeg(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);

// Encodes RGBA, whose alpha is left out, as a progressive JPEG; returns its length, or 0 if it does not fit.
size_t peer_encode_progressive_jpeg(
    const uint8_t *pixels, uint32_t width, uint32_t height, int quality, uint8_t *data, size_t capacity);

// Decodes a PNG that is not interlaced to RGBA with straight alpha, one call a row. False if it does not fit.
bool peer_decode_png(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);

// Like peer_decode_png, with libspng in one call.
bool peer_decode_png_with_spng(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);

// Decodes a WebP to RGBA with straight alpha, in one call, with libwebp's two threads. False if it does not fit.
bool peer_decode_webp(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);

// Decodes all frames of an animated WebP, premultiplied, and composes them on libwebp's own canvas; returns how many.
int peer_decode_webp_frames(const uint8_t *data, size_t length);

// Decodes all frames of a GIF with giflib and composes them on one canvas, as far as those of peer_make_gif need it. Writes
// a hash (FNV-1a) of each composed frame where `hashes` is given. False if it does not fit.
bool peer_decode_gif(const uint8_t *data, size_t length, uint8_t *canvas, size_t capacity, uint64_t *hashes);

// Makes a GIF with giflib: of whole frames full of noise, or of one such frame and small changes with holes. Free it.
uint8_t *peer_make_gif(int width, int height, int frame_count, bool is_whole, size_t *length);

// Encode opaque RGBA with libjpeg-turbo's and libwebp's plainest calls, at a quality from 0 to 100; return the file's length.
size_t peer_encode_jpeg(const uint8_t *pixels, uint32_t width, uint32_t height, int quality);
size_t peer_encode_webp(const uint8_t *pixels, uint32_t width, uint32_t height, int quality);

// Encodes opaque RGBA as RGB with libpng's own choice of filters and zlib's `level`; returns the file's length.
size_t peer_encode_png(
    const uint8_t *pixels, uint32_t width, uint32_t height, int level, uint8_t *data, size_t capacity);

#endif
