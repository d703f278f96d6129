#ifndef CWEBIMAGE_PNG_H
#define CWEBIMAGE_PNG_H

// libpng for Swift. libpng reports errors with longjmp, which must not cross Swift frames: every function here catches
// it, and nothing calls back into Swift. Use an object from one thread at a time.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cwi_png_status {
    CWI_PNG_OK = 0,
    CWI_PNG_CORRUPT,
    // Memory for an encoder's output is short.
    CWI_PNG_OUT_OF_MEMORY,
} cwi_png_status;

// Decodes the compressed pixels of an image as they arrive. The caller reads chunks and checksums: libpng only gets
// what it needs, so it does not buffer or decompress anything else.
typedef struct cwi_png_decoder cwi_png_decoder;

typedef struct cwi_png_rows {
    // The number of rows from the top that show something: all their pixels, or blocks in an interlaced image.
    uint32_t shown_count;
    // The number of missing rows over all passes: 0 if every pixel is there.
    uint64_t missing_count;
} cwi_png_rows;

// Returns NULL if memory is short.
cwi_png_decoder *cwi_png_decoder_create(void);
void cwi_png_decoder_destroy(cwi_png_decoder *decoder);

// libpng's message for the last failure.
const char *cwi_png_decoder_message(const cwi_png_decoder *decoder);

// Sets the content of the chunks IHDR, PLTE and tRNS, the latter empty if missing. Call it once. Fails for a side above
// `dimension_limit`. `is_deep` keeps the 16 bits of a channel, in native byte order, else they are rounded to 8.
cwi_png_status cwi_png_decoder_start(
    cwi_png_decoder *decoder, const uint8_t header[13], const uint8_t *palette, size_t palette_length,
    const uint8_t *transparency, size_t transparency_length, uint32_t dimension_limit, bool is_deep);

// Takes the next bytes of the zlib stream and writes the rows that they complete to `pixels`: RGBA, straight alpha.
// `pixels` are the same in each call, `row_limit` rows of `stride` bytes; fails if the image needs more. After a
// failure the rows so far are good, and no more can be taken.
cwi_png_status cwi_png_decoder_take(
    cwi_png_decoder *decoder, const uint8_t *bytes, size_t count, uint8_t *pixels, size_t stride, uint32_t row_limit);

// The same for an image without interlacing that is not kept: writes the rows from `first_row` on to `window`, which
// holds `row_limit`; fails if more come.
cwi_png_status cwi_png_decoder_take_rows(
    cwi_png_decoder *decoder, const uint8_t *bytes, size_t count, uint8_t *window, size_t stride, uint32_t first_row,
    uint32_t row_limit);

// The progress. All rows are missing until the first bytes are taken.
cwi_png_rows cwi_png_decoder_rows(const cwi_png_decoder *decoder);

// What `cwi_deflate_continue` adds at most.
enum { CWI_DEFLATE_JOINT_LENGTH = 5 };

// Changes a whole deflate stream so that another can follow it: none of its blocks is the last one any more, and it ends with a whole byte. Returns its
// new length, up to CWI_DEFLATE_JOINT_LENGTH more, for which there must be room; 0 without memory.
size_t cwi_deflate_continue(uint8_t *stream, size_t length);

// The checksum of a zlib stream, of two parts of its content and the length of the second.
uint32_t cwi_zlib_joined_checksum(uint32_t first, uint32_t second, size_t second_length);

#endif
