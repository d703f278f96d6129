// What the libraries' files share.

#ifndef CWEBIMAGE_FORMATS_FILE_H
#define CWEBIMAGE_FORMATS_FILE_H

#include "CWebImageFormats.h"

#include <stdlib.h>
#include <string.h>

/// How one library reads. `info` begins each library's own structure.
typedef struct {
    void (*close)(cwi_file *file);
    cwi_result (*decode)(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial);
    cwi_result (*draw)(cwi_file *file, uint32_t width, uint32_t height, void *pixels, size_t stride);
    double (*duration)(const cwi_file *file, int frame);
    bool (*is_keyframe)(const cwi_file *file, int frame);
} cwi_reading;

struct cwi_file {
    const cwi_reading *reading;
    cwi_file_info info;
    const uint8_t *bytes;
    size_t length;
    cwi_limits limits;
    cwi_choice choice;
    uint32_t strip_height;
    /// What a TIFF decodes; without a size, the whole.
    cwi_part part;
};

/// How one library writes.
typedef struct {
    void (*close)(cwi_encoder *encoder);
    cwi_result (*add)(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds);
    cwi_result (*finish)(cwi_encoder *encoder, uint8_t **bytes, size_t *length);
} cwi_writing;

struct cwi_encoder {
    const cwi_writing *writing;
    cwi_encoding encoding;
};

typedef cwi_result cwi_open_function(
    const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file);
typedef cwi_result cwi_encoder_open_function(const cwi_encoding *encoding, cwi_encoder **encoder);

cwi_open_function cwi_open_avif, cwi_open_heif, cwi_open_jxl, cwi_open_tiff, cwi_open_jp2, cwi_open_svg;
cwi_encoder_open_function cwi_encode_avif, cwi_encode_heif, cwi_encode_jxl, cwi_encode_tiff, cwi_encode_jp2;

/// Loads the library of a format. The codecs' functions are called only after that.
cwi_result cwi_load(cwi_format format);

cwi_result cwi_success(void);
cwi_result cwi_failure(cwi_status status, const char *message);
cwi_result cwi_no_page(int page_count);

/// Allocates a file of `size` bytes, which starts with a `cwi_file`, and sets what all have.
void *cwi_make_file(
    size_t size, const cwi_reading *reading, const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice);

/// Whether an image is within the limits; the result has the status CWI_LIMIT if not.
cwi_result cwi_check_size(const cwi_limits *limits, uint64_t width, uint64_t height);

/// Bytes that grow, for encoders.
typedef struct {
    uint8_t *bytes;
    size_t length, capacity;
} cwi_buffer;

/// Writes at `offset`, and extends the buffer if needed. Returns false if there is no memory.
bool cwi_buffer_write(cwi_buffer *buffer, size_t offset, const void *bytes, size_t length);

#endif
