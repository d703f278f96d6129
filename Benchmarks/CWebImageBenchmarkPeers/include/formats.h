#ifndef CWEBIMAGE_FORMAT_PEERS_H
#define CWEBIMAGE_FORMAT_PEERS_H

// What the benchmarks compare WebImageFormats with: each library's own decoder, used in the plainest way, with as many
// threads as there are processors. Only for files known to be good, opaque and of 8 bits.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Each decodes to RGBA. False if it does not fit.
bool peer_decode_avif(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);
bool peer_decode_heic(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);
bool peer_decode_jxl(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);
bool peer_decode_tiff(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);
bool peer_decode_jp2(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity);

// Draws an SVG of a known size as cairo's premultiplied ARGB32.
bool peer_draw_svg(const uint8_t *data, size_t length, uint32_t width, uint32_t height, uint8_t *pixels);

// Looks for libglycin, and returns its name; NULL where it is not installed.
const char *peer_glycin_open(void);

// Has glycin decode a file; its pixels stay in its memory. False if it has no loader for the format.
bool peer_decode_glycin(const char *path, uint32_t *width, uint32_t *height);

#endif
