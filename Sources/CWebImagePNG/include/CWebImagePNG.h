#ifndef CWEBIMAGE_PNG_H
#define CWEBIMAGE_PNG_H

// libpng for Swift. libpng reports errors with longjmp, which must not cross a Swift frame: every function here catches
// it, and nothing here calls back into Swift. An object belongs to one thread at a time.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cwi_png_status {
    CWI_PNG_OK = 0,
    CWI_PNG_TRUNCATED,
    CWI_PNG_CORRUPT,
    // An encoder's output found no room.
    CWI_PNG_OUT_OF_MEMORY,
} cwi_png_status;

typedef struct cwi_png_decoder cwi_png_decoder;

typedef struct cwi_png_header {
    uint32_t width;
    uint32_t height;
    // An alpha channel or a transparent colour.
    bool has_alpha;
    // 1, or 7 for an interlaced picture: read all rows that many times into the same memory.
    uint32_t pass_count;
} cwi_png_header;

// `data` must outlive the decoder. NULL when memory is short.
cwi_png_decoder *cwi_png_decoder_create(const uint8_t *data, size_t length);
void cwi_png_decoder_destroy(cwi_png_decoder *decoder);

// libpng's own words for the last failure.
const char *cwi_png_decoder_message(const cwi_png_decoder *decoder);

// Reads up to the first pixel data. Fails for a side above `dimension_limit`.
cwi_png_status cwi_png_read_header(cwi_png_decoder *decoder, uint32_t dimension_limit, cwi_png_header *header);

// Writes the next `row_count` rows of the current pass to `pixels`: RGBA, 8 bits, straight alpha. After the last row
// the next pass begins with the first. CWI_PNG_CORRUPT if there are fewer rows left, or a row does not fit `stride`.
cwi_png_status cwi_png_read_rows(cwi_png_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t row_count);

// Reads what follows the pixels and checks that the file is whole.
cwi_png_status cwi_png_read_end(cwi_png_decoder *decoder);

typedef struct cwi_png_encoder cwi_png_encoder;

// NULL when memory is short.
cwi_png_encoder *cwi_png_encoder_create(void);
void cwi_png_encoder_destroy(cwi_png_encoder *encoder);

// libpng's own words for the last failure.
const char *cwi_png_encoder_message(const cwi_png_encoder *encoder);

// Starts a PNG of 8-bit RGBA, or of RGB if it has no alpha; call it once. `level` is zlib's, 0 to 9.
cwi_png_status cwi_png_encoder_start(
    cwi_png_encoder *encoder, uint32_t width, uint32_t height, bool has_alpha, int level);

// Encodes the next `row_count` rows: 4 bytes a pixel, straight alpha; without alpha, the fourth byte is ignored.
cwi_png_status cwi_png_write_rows(cwi_png_encoder *encoder, const uint8_t *pixels, size_t stride, uint32_t row_count);

// Ends the file and hands it over; the caller frees it with free().
cwi_png_status cwi_png_finish(cwi_png_encoder *encoder, uint8_t **data, size_t *length);

#endif
