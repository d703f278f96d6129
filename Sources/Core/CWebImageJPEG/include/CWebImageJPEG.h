#ifndef CWEBIMAGE_JPEG_H
#define CWEBIMAGE_JPEG_H

// libjpeg-turbo for Swift. libjpeg reports errors with longjmp, which must not cross Swift frames: every function here
// catches it, and nothing calls back into Swift. Use an object from one thread at a time.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cwi_jpeg_status {
    CWI_JPEG_OK = 0,
    // More bytes are needed: set the next ones and call again.
    CWI_JPEG_NEEDS_BYTES,
    CWI_JPEG_TRUNCATED,
    CWI_JPEG_CORRUPT,
    // An invalid Huffman code in a scan where libjpeg only detects it if few bytes follow: with more of them it would
    // have read a zero.
    CWI_JPEG_UNKNOWN_CODE,
    CWI_JPEG_UNSUPPORTED,
    CWI_JPEG_OUT_OF_MEMORY,
    CWI_JPEG_TOO_MANY_SCANS,
    // The file for coefficients could not be written or read; see cwi_jpeg_decoder_system_error.
    CWI_JPEG_SPOOL_FAILED,
} cwi_jpeg_status;

// Decodes a file, at once or while its bytes arrive:
//
//     read_header ─▶ start ─┬─ one scan ─────▶ read_rows, as rows come ────────────────▶ the last row
//                           └─ several scans ▶ consume, scan by scan, until complete ──▶ start_pass ▶ read_rows
//                                                   └▶ start_pass ▶ read_rows: a preview
//
// After CWI_JPEG_TRUNCATED, CWI_JPEG_CORRUPT and CWI_JPEG_UNKNOWN_CODE, the pixels so far are available: the rows of a
// single scan; for several scans, call cwi_jpeg_start_pass. After other failures, only read the message and destroy the
// decoder.
typedef struct cwi_jpeg_decoder cwi_jpeg_decoder;

typedef struct cwi_jpeg_header {
    uint32_t width;
    uint32_t height;
    uint32_t component_count;
    // Four components, which cwi_jpeg_read_rows outputs unchanged; libjpeg cannot convert them to RGB.
    bool is_cmyk;
    // Progressive, or one scan per component: call cwi_jpeg_consume until it is complete.
    bool has_multiple_scans;
    // libjpeg may report CWI_JPEG_UNKNOWN_CODE.
    bool is_sequential_huffman;
    // libjpeg cannot suspend arithmetic decoding: after cwi_jpeg_start all bytes must be available.
    bool is_arithmetic;
    // The memory, in bytes, of the coefficients of several scans, and of the window if they are in a file; 0 for one
    // scan.
    size_t coefficient_byte_count;
    size_t spool_window_byte_count;
} cwi_jpeg_header;

// Returns NULL if memory is short.
cwi_jpeg_decoder *cwi_jpeg_decoder_create(void);
void cwi_jpeg_decoder_destroy(cwi_jpeg_decoder *decoder);

// libjpeg's message for the last failure.
const char *cwi_jpeg_decoder_message(const cwi_jpeg_decoder *decoder);

// The errno of the last CWI_JPEG_SPOOL_FAILED.
int cwi_jpeg_decoder_system_error(const cwi_jpeg_decoder *decoder);

// Sets the next bytes: those not used before, and what follows them. `is_end` means that the file ends with them. They
// must remain valid until cwi_jpeg_release_source.
void cwi_jpeg_set_source(cwi_jpeg_decoder *decoder, const uint8_t *data, size_t length, bool is_end);

// Releases the bytes and returns how many at their end were not used.
size_t cwi_jpeg_release_source(cwi_jpeg_decoder *decoder);

// Reads the markers before the first scan.
cwi_jpeg_status cwi_jpeg_read_header(cwi_jpeg_decoder *decoder, cwi_jpeg_header *header);

// Starts decoding at `scale_numerator` eighths (1, 2, 4 or 8) and returns the output size. `memory_limit` limits
// libjpeg's memory, in bytes.
//
// `spool_descriptor` is a file for the coefficients of several scans, open until cwi_jpeg_release_image or the end; -1
// keeps them in memory.
cwi_jpeg_status cwi_jpeg_start(
    cwi_jpeg_decoder *decoder, unsigned scale_numerator, size_t memory_limit, int spool_descriptor, uint32_t *width,
    uint32_t *height);

// Reads the compressed data of up to `row_count` rows of blocks of an image with several scans; fails with
// CWI_JPEG_TOO_MANY_SCANS beyond `scan_limit` scans. Call it until `is_complete`.
cwi_jpeg_status cwi_jpeg_consume(
    cwi_jpeg_decoder *decoder, unsigned row_count, unsigned scan_limit, bool *is_complete);

// The number of scans known to be complete because the next one has begun; a higher number means a new preview.
unsigned cwi_jpeg_whole_scan_count(const cwi_jpeg_decoder *decoder);

// Starts to output rows of the consumed scans, from the top. Before the end, a scan must be complete; after a failure,
// also a part of the first one is allowed. `is_last` means that no pass follows: missing detail is then smoothed
// between blocks, which costs as much again and which other passes only do after the first scan.
cwi_jpeg_status cwi_jpeg_start_pass(cwi_jpeg_decoder *decoder, bool is_last);

// Writes up to `row_limit` rows to `pixels`, 4 bytes per pixel: RGBA with alpha 255, or CMYK. Returns their number:
// all, unless the status tells why not; these are good. CWI_JPEG_CORRUPT if fewer rows are left, or a row does not fit
// in `stride` bytes.
cwi_jpeg_status cwi_jpeg_read_rows(
    cwi_jpeg_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t row_limit, uint32_t *row_count);

// Before the first row: outputs only the columns of a part, which has to be inside the output. Returns the part that rows have then, which may
// begin further left, at the edge of a block. Chroma at the edges of the part may differ from that of a whole image, by less than
// CWI_JPEG_MARGIN columns.
cwi_jpeg_status cwi_jpeg_crop(cwi_jpeg_decoder *decoder, uint32_t *left, uint32_t *width);

// Passes over the next rows, which have to be followed by others. Of a single scan, only the codes are read. The next CWI_JPEG_MARGIN rows may
// differ from those of a whole image.
cwi_jpeg_status cwi_jpeg_skip_rows(cwi_jpeg_decoder *decoder, uint32_t row_count);

// The columns or rows of a block of the largest sampling factor.
enum { CWI_JPEG_MARGIN = 32 };

// Releases the memory of the image after its rows were read. Only destroy the decoder afterward.
void cwi_jpeg_release_image(cwi_jpeg_decoder *decoder);

typedef struct cwi_jpeg_encoder cwi_jpeg_encoder;

// Returns NULL if memory is short.
cwi_jpeg_encoder *cwi_jpeg_encoder_create(void);
void cwi_jpeg_encoder_destroy(cwi_jpeg_encoder *encoder);

// libjpeg's message for the last failure.
const char *cwi_jpeg_encoder_message(const cwi_jpeg_encoder *encoder);

typedef struct cwi_jpeg_encoder_settings {
    // 1 to 100.
    int quality;
    // The pixels, across and down, that share a sample of chroma: 1 or 2.
    int chroma_columns;
    int chroma_rows;
    // Whether there is luma only.
    bool is_gray;
    bool is_progressive;
    // Whether the Huffman codes are optimized, which takes a second pass; those of a progressive image always are.
    bool optimizes_codes;
} cwi_jpeg_encoder_settings;

// Starts a JPEG. Call it once.
cwi_jpeg_status cwi_jpeg_encoder_start(
    cwi_jpeg_encoder *encoder, uint32_t width, uint32_t height, cwi_jpeg_encoder_settings settings);

// Encodes the next `row_count` rows of RGBA; alpha is ignored.
cwi_jpeg_status cwi_jpeg_write_rows(
    cwi_jpeg_encoder *encoder, const uint8_t *pixels, size_t stride, uint32_t row_count);

// Ends the file and returns it; the caller frees it with free().
cwi_jpeg_status cwi_jpeg_finish(cwi_jpeg_encoder *encoder, uint8_t **data, size_t *length);

#include "CWebImageLosslessJPEG.h"

#endif
