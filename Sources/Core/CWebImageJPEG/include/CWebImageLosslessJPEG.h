#ifndef CWEBIMAGE_LOSSLESS_JPEG_H
#define CWEBIMAGE_LOSSLESS_JPEG_H

// Lossless JPEG (ITU-T T.81, annex H): Huffman codes of differences, 2 to 16 bits. libjpeg-turbo reads it from version 3
// on, which no Debian has yet. It is in medical images, raw photos, and TIFF.

#include "CWebImageJPEG.h"

// A Huffman table (T.81, annex C).
typedef struct cwi_lossless_table {
    bool is_set;
    uint8_t values[17];
    // For each length, the first code, the number of codes, and the index of the first value.
    uint32_t first_code[17];
    uint16_t count[17], first_value[17];
} cwi_lossless_table;

typedef struct cwi_lossless_component {
    uint8_t identifier, table;
} cwi_lossless_component;

// The state of decoding one file, which refers to its bytes.
typedef struct cwi_lossless_jpeg {
    const uint8_t *bytes;
    size_t length, offset;
    uint32_t width, height;
    int component_count, precision;
    // Whether three components are YCbCr, or four are YCCK.
    bool is_ycc;
    cwi_lossless_component components[4];
    cwi_lossless_table tables[4];
    uint32_t restart_interval;
    // The scan: its components, the predictor, and by how many bits samples were shifted.
    int scan_components[4], scan_component_count, predictor, shift;
    // The components whose scans are complete, a bit for each.
    unsigned complete_components;
    // The next row of the scan, and the rows before the next restart marker; 0 for none.
    uint32_t row, rows_to_restart;
    // Whether the next row is predicted as the first one.
    bool is_first_row;
    // The next bits of the scan's data, the highest first; the last `padding_count` of them follow its end.
    uint32_t bits;
    int bit_count, padding_count;
    bool is_complete;
    const char *message;
} cwi_lossless_jpeg;

// Reads the headers up to the first scan. `tables` are segments that precede them in a TIFF; NULL for none. The bytes must
// exist as long as `jpeg` is used.
cwi_jpeg_status cwi_lossless_jpeg_open(
    cwi_lossless_jpeg *jpeg, const uint8_t *bytes, size_t length, const uint8_t *tables, size_t tables_length);

// Decodes the next rows, at most `row_limit`, of a scan to `samples`, whose pixels have `stride` of them. After the last
// scan `is_complete` is set. The samples have `precision` bits, and must be the same memory in each call.
cwi_jpeg_status cwi_lossless_jpeg_read(cwi_lossless_jpeg *jpeg, uint16_t *samples, size_t stride, uint32_t row_limit);

// The number of rows that are complete in all components.
uint32_t cwi_lossless_jpeg_row_count(const cwi_lossless_jpeg *jpeg);

// Converts `count` pixels of four samples in place: to straight RGBA of 16 bits, or to CMYK as it is stored, which is
// inverted. Conversions are those of `cwi_lossless_jpeg_read`'s file.
void cwi_lossless_jpeg_expand(const cwi_lossless_jpeg *jpeg, uint16_t *pixels, size_t count);

// Scales `count` samples of `precision` bits to 16.
void cwi_lossless_jpeg_scale(uint16_t *samples, size_t count, int precision);

#endif
