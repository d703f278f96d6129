#ifndef CWEBIMAGE_JPEG_H
#define CWEBIMAGE_JPEG_H

// libjpeg-turbo for Swift. libjpeg reports errors with longjmp, which must not cross a Swift frame: every function here
// catches it, and nothing here calls back into Swift. An object belongs to one thread at a time.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cwi_jpeg_status {
    CWI_JPEG_OK = 0,
    // The bytes end before the answer, and more will come: set the next ones and call again.
    CWI_JPEG_NEEDS_BYTES,
    CWI_JPEG_TRUNCATED,
    CWI_JPEG_CORRUPT,
    // A Huffman code that does not exist, in a scan where libjpeg notices it only if few bytes follow: with more of them
    // it would have read it as a zero.
    CWI_JPEG_UNKNOWN_CODE,
    CWI_JPEG_UNSUPPORTED,
    CWI_JPEG_OUT_OF_MEMORY,
    CWI_JPEG_TOO_MANY_SCANS,
    // The file for the coefficients could not be written or read; cwi_jpeg_decoder_system_error says why.
    CWI_JPEG_SPOOL_FAILED,
} cwi_jpeg_status;

// Decodes one file, all at once or while its bytes arrive:
//
//     read_header ─▶ start ─┬─ one scan ─────▶ read_rows, as rows come ────────────────▶ the last row
//                           └─ several scans ▶ consume, scan by scan, until complete ──▶ start_pass ▶ read_rows
//                                                   └▶ start_pass ▶ read_rows: a preview
//
// After CWI_JPEG_TRUNCATED, CWI_JPEG_CORRUPT and CWI_JPEG_UNKNOWN_CODE, what came before can still be had: the rows read so far of a picture of
// one scan; for one of several, cwi_jpeg_start_pass. After other failures only the message and the end are left.
typedef struct cwi_jpeg_decoder cwi_jpeg_decoder;

typedef struct cwi_jpeg_header {
    uint32_t width;
    uint32_t height;
    uint32_t component_count;
    // Four components of ink, which cwi_jpeg_read_rows delivers as they are; libjpeg has no conversion to RGB.
    bool is_cmyk;
    // Progressive, or one scan a component: call cwi_jpeg_consume until it is complete.
    bool has_multiple_scans;
    // Coded in a way of which libjpeg may report CWI_JPEG_UNKNOWN_CODE.
    bool is_sequential_huffman;
    // libjpeg can't stop in the middle of arithmetic coding: after cwi_jpeg_start all bytes must be there.
    bool is_arithmetic;
    // The memory, in bytes, that the coefficients of an image with several scans take, and what is left of it where they lie
    // in a file; 0 for one scan.
    size_t coefficient_byte_count;
    size_t spool_window_byte_count;
} cwi_jpeg_header;

// NULL when memory is short.
cwi_jpeg_decoder *cwi_jpeg_decoder_create(void);
void cwi_jpeg_decoder_destroy(cwi_jpeg_decoder *decoder);

// libjpeg's own words for the last failure.
const char *cwi_jpeg_decoder_message(const cwi_jpeg_decoder *decoder);

// The system's number for the last CWI_JPEG_SPOOL_FAILED.
int cwi_jpeg_decoder_system_error(const cwi_jpeg_decoder *decoder);

// Says where the next bytes are: those that were not used before, and what came after them. `is_end` tells that the
// file has no more. They must stay until cwi_jpeg_release_source.
void cwi_jpeg_set_source(cwi_jpeg_decoder *decoder, const uint8_t *data, size_t length, bool is_end);

// Forgets the bytes, and tells how many of them, at their end, were not used.
size_t cwi_jpeg_release_source(cwi_jpeg_decoder *decoder);

// Reads the markers before the first scan.
cwi_jpeg_status cwi_jpeg_read_header(cwi_jpeg_decoder *decoder, cwi_jpeg_header *header);

// Starts decoding at `scale_numerator` eighths (1, 2, 4 or 8) and tells the size that comes out.
// `memory_limit` bounds what libjpeg allocates, in bytes.
//
// `spool_descriptor` is a file for the coefficients of an image with several scans, which has to stay open until
// cwi_jpeg_release_image or the end; -1 keeps them in memory.
cwi_jpeg_status cwi_jpeg_start(
    cwi_jpeg_decoder *decoder, unsigned scale_numerator, size_t memory_limit, int spool_descriptor, uint32_t *width,
    uint32_t *height);

// Reads the compressed data of up to `row_count` rows of blocks of a picture with several scans; fails with
// CWI_JPEG_UNSUPPORTED beyond `scan_limit` scans. Call it until `is_complete`.
cwi_jpeg_status cwi_jpeg_consume(
    cwi_jpeg_decoder *decoder, unsigned row_count, unsigned scan_limit, bool *is_complete);

// How many scans are known to be whole, since the next one has begun: there is something new to show when there are more.
unsigned cwi_jpeg_whole_scan_count(const cwi_jpeg_decoder *decoder);

// Begins to make rows of what was consumed, from the top. Before the end only where a scan is whole; after a failure
// also of the first one's part, which read_rows shows as far as it goes. `is_last` says that no pass follows: it gets
// what libjpeg makes of missing detail (smoothing between blocks), which costs as much again and which other passes
// have only after the first scan.
cwi_jpeg_status cwi_jpeg_start_pass(cwi_jpeg_decoder *decoder, bool is_last);

// Writes up to `row_limit` rows to `pixels`, each 4 bytes a pixel: RGBA with alpha 255, or CMYK, and tells how many:
// all, unless the status says why not; those that are there are good.
// CWI_JPEG_CORRUPT if there are fewer rows left, or a row does not fit `stride` bytes.
cwi_jpeg_status cwi_jpeg_read_rows(
    cwi_jpeg_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t row_limit, uint32_t *row_count);

// Gives back what the image took, once its rows are read. Nothing but the end may follow.
void cwi_jpeg_release_image(cwi_jpeg_decoder *decoder);

typedef struct cwi_jpeg_encoder cwi_jpeg_encoder;

// NULL when memory is short.
cwi_jpeg_encoder *cwi_jpeg_encoder_create(void);
void cwi_jpeg_encoder_destroy(cwi_jpeg_encoder *encoder);

// libjpeg's own words for the last failure.
const char *cwi_jpeg_encoder_message(const cwi_jpeg_encoder *encoder);

typedef struct cwi_jpeg_encoder_settings {
    // 1 to 100.
    int quality;
    // How many pixels, across and down, share a sample of chroma: 1 or 2.
    int chroma_columns;
    int chroma_rows;
    bool is_progressive;
    // Whether the Huffman codes are made for this picture, which takes a second pass; those of a progressive one always are.
    bool optimizes_codes;
} cwi_jpeg_encoder_settings;

// Starts a JPEG; call it once.
cwi_jpeg_status cwi_jpeg_encoder_start(
    cwi_jpeg_encoder *encoder, uint32_t width, uint32_t height, cwi_jpeg_encoder_settings settings);

// Encodes the next `row_count` rows of RGBA; alpha is ignored.
cwi_jpeg_status cwi_jpeg_write_rows(
    cwi_jpeg_encoder *encoder, const uint8_t *pixels, size_t stride, uint32_t row_count);

// Ends the file and hands it over; the caller frees it with free().
cwi_jpeg_status cwi_jpeg_finish(cwi_jpeg_encoder *encoder, uint8_t **data, size_t *length);

#endif
