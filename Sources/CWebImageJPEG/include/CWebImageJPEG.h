#ifndef CWEBIMAGE_JPEG_H
#define CWEBIMAGE_JPEG_H

// libjpeg-turbo for Swift. libjpeg reports errors with longjmp, which must not cross a Swift frame: every function here
// catches it, and nothing here calls back into Swift. An object belongs to one thread at a time.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cwi_jpeg_status {
    CWI_JPEG_OK = 0,
    CWI_JPEG_TRUNCATED,
    CWI_JPEG_CORRUPT,
    CWI_JPEG_UNSUPPORTED,
    CWI_JPEG_OUT_OF_MEMORY,
} cwi_jpeg_status;

typedef struct cwi_jpeg_decoder cwi_jpeg_decoder;

typedef struct cwi_jpeg_header {
    uint32_t width;
    uint32_t height;
    uint32_t component_count;
    // Four components of ink, which cwi_jpeg_read_rows delivers as they are; libjpeg has no conversion to RGB.
    bool is_cmyk;
    // Progressive, or one scan a component: call cwi_jpeg_consume until it is complete.
    bool has_multiple_scans;
} cwi_jpeg_header;

// `data` must outlive the decoder. NULL when memory is short.
cwi_jpeg_decoder *cwi_jpeg_decoder_create(const uint8_t *data, size_t length);
void cwi_jpeg_decoder_destroy(cwi_jpeg_decoder *decoder);

// libjpeg's own words for the last failure.
const char *cwi_jpeg_decoder_message(const cwi_jpeg_decoder *decoder);

cwi_jpeg_status cwi_jpeg_read_header(cwi_jpeg_decoder *decoder, cwi_jpeg_header *header);

// Starts decoding at `scale_numerator` eighths (1, 2, 4 or 8) and tells the size that comes out.
// `memory_limit` bounds what libjpeg allocates, in bytes.
cwi_jpeg_status cwi_jpeg_start(
    cwi_jpeg_decoder *decoder, unsigned scale_numerator, size_t memory_limit, uint32_t *width, uint32_t *height);

// Reads the compressed data of up to `row_count` rows of blocks of a picture with several scans; fails with
// CWI_JPEG_UNSUPPORTED beyond `scan_limit` scans. Call it until `is_complete`.
cwi_jpeg_status cwi_jpeg_consume(
    cwi_jpeg_decoder *decoder, unsigned row_count, unsigned scan_limit, bool *is_complete);

// Writes the next `row_count` rows to `pixels`, each 4 bytes a pixel: RGBA with alpha 255, or CMYK.
// CWI_JPEG_CORRUPT if there are fewer rows left, or a row does not fit `stride` bytes.
cwi_jpeg_status cwi_jpeg_read_rows(cwi_jpeg_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t row_count);

typedef struct cwi_jpeg_encoder cwi_jpeg_encoder;

// NULL when memory is short.
cwi_jpeg_encoder *cwi_jpeg_encoder_create(void);
void cwi_jpeg_encoder_destroy(cwi_jpeg_encoder *encoder);

// libjpeg's own words for the last failure.
const char *cwi_jpeg_encoder_message(const cwi_jpeg_encoder *encoder);

// Starts a baseline JPEG; call it once. `quality` runs from 1 to 100.
cwi_jpeg_status cwi_jpeg_encoder_start(
    cwi_jpeg_encoder *encoder, uint32_t width, uint32_t height, int quality, bool subsamples_chroma);

// Encodes the next `row_count` rows of RGBA; alpha is ignored.
cwi_jpeg_status cwi_jpeg_write_rows(
    cwi_jpeg_encoder *encoder, const uint8_t *pixels, size_t stride, uint32_t row_count);

// Ends the file and hands it over; the caller frees it with free().
cwi_jpeg_status cwi_jpeg_finish(cwi_jpeg_encoder *encoder, uint8_t **data, size_t *length);

#endif
