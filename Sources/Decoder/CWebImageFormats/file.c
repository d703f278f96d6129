#include "file.h"
#include "libraries.h"

#include <stdio.h>

cwi_result cwi_success(void) { return (cwi_result){.status = CWI_OK}; }

cwi_result cwi_failure(cwi_status status, const char *message) {
    cwi_result result = {.status = status};
    snprintf(result.message, sizeof result.message, "%s", message ? message : "");
    return result;
}

/// How a format is read and written.
typedef struct {
    cwi_library *library;
    cwi_open_function *open;
    /// NULL for a format that is only read.
    cwi_encoder_open_function *encode;
} codec;

static const codec codecs[CWI_FORMATS] = {
#ifndef CWI_WITHOUT_AVIF
    [CWI_AVIF] = {&cwi_avif_library, cwi_open_avif, cwi_encode_avif},
#endif
#ifndef CWI_WITHOUT_HEIF
    [CWI_HEIC] = {&cwi_heif_library, cwi_open_heif, cwi_encode_heif},
#endif
#ifndef CWI_WITHOUT_JXL
    [CWI_JPEG_XL] = {&cwi_jxl_library, cwi_open_jxl, cwi_encode_jxl},
#endif
#ifndef CWI_WITHOUT_TIFF
    [CWI_TIFF] = {&cwi_tiff_library, cwi_open_tiff, cwi_encode_tiff},
#endif
#ifndef CWI_WITHOUT_JP2
    [CWI_JPEG_2000] = {&cwi_jp2_library, cwi_open_jp2, cwi_encode_jp2},
#endif
#ifndef CWI_WITHOUT_SVG
    [CWI_SVG] = {&cwi_svg_library, cwi_open_svg, NULL},
#endif
};

bool cwi_has_format(cwi_format format) { return codecs[format].open != NULL; }

bool cwi_can_encode(cwi_format format, bool is_animation) {
    if (is_animation && format != CWI_AVIF && format != CWI_JPEG_XL) return false;
    return codecs[format].encode != NULL;
}

cwi_result cwi_load(cwi_format format) {
    cwi_library *library = codecs[format].library;
    if (!library) return cwi_failure(CWI_UNSUPPORTED, "a format that was left out");
    return cwi_library_load(library) ? cwi_success() : cwi_failure(CWI_NO_LIBRARY, library->problem);
}

cwi_result cwi_file_open(
    cwi_format format, const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file) {
    *file = NULL;
    cwi_result loaded = cwi_load(format);
    return loaded.status == CWI_OK ? codecs[format].open(bytes, length, limits, choice, file) : loaded;
}

void cwi_file_close(cwi_file *file) {
    if (file) file->reading->close(file);
}

const cwi_file_info *cwi_file_get_info(const cwi_file *file) { return &file->info; }

double cwi_file_duration(const cwi_file *file, int frame) {
    if (!file->reading->duration || frame < 0 || frame >= file->info.frame_count) return 0;
    return file->reading->duration(file, frame);
}

bool cwi_file_is_keyframe(const cwi_file *file, int frame) {
    return !file->reading->is_keyframe || file->reading->is_keyframe(file, frame);
}

void cwi_file_set_strip_height(cwi_file *file, uint32_t row_count) { file->strip_height = row_count; }

bool cwi_file_set_part(cwi_file *file, cwi_part part) {
    const cwi_file_info *info = &file->info;
    bool is_inside = part.width > 0 && part.width <= info->width && part.x <= info->width - part.width &&
                     part.height > 0 && part.height <= info->height && part.y <= info->height - part.height;
    if (is_inside) file->part = part;
    return is_inside;
}

cwi_result cwi_file_decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial) {
    if (is_partial) *is_partial = false;
    if (!file->reading->decode || frame < 0 || frame >= file->info.frame_count)
        return cwi_failure(CWI_UNSUPPORTED, "such a frame");
    return file->reading->decode(file, frame, reduction, pixels, stride, is_partial);
}

cwi_result cwi_file_draw(cwi_file *file, uint32_t width, uint32_t height, void *pixels, size_t stride) {
    if (!file->reading->draw) return cwi_failure(CWI_UNSUPPORTED, "drawing");
    return file->reading->draw(file, width, height, pixels, stride);
}

void *cwi_make_file(
    size_t size, const cwi_reading *reading, const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice) {
    cwi_file *file = calloc(1, size);
    if (!file) return NULL;
    *file = (cwi_file){.reading = reading, .bytes = bytes, .length = length, .limits = limits, .choice = choice};
    file->info = (cwi_file_info){
        .orientation = 1, .depth = 8, .bytes_per_channel = 1, .page_count = 1, .frame_count = 1, .resolution_count = 1};
    return file;
}

cwi_result cwi_no_page(int page_count) { return (cwi_result){.status = CWI_NO_PAGE, .page_count = page_count}; }

cwi_result cwi_check_size(const cwi_limits *limits, uint64_t width, uint64_t height) {
    if (width == 0 || height == 0) return cwi_failure(CWI_CORRUPT, "an empty image");
    bool fits = width <= limits->side && height <= limits->side && width * height <= limits->pixel_count;
    if (fits) return cwi_success();
    return (cwi_result){.status = CWI_LIMIT, .width = width, .height = height};
}

cwi_result cwi_encoder_open(cwi_format format, const cwi_encoding *settings, cwi_encoder **encoder) {
    *encoder = NULL;
    cwi_encoder_open_function *encode = codecs[format].encode;
    if (!encode) return cwi_failure(CWI_UNSUPPORTED, "a format that cannot be written");
    cwi_result loaded = cwi_load(format);
    return loaded.status == CWI_OK ? encode(settings, encoder) : loaded;
}

void cwi_encoder_close(cwi_encoder *encoder) {
    if (encoder) encoder->writing->close(encoder);
}

cwi_result cwi_encoder_add(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds) {
    return encoder->writing->add(encoder, pixels, stride, milliseconds);
}

cwi_result cwi_encoder_finish(cwi_encoder *encoder, uint8_t **bytes, size_t *length) {
    *bytes = NULL;
    *length = 0;
    return encoder->writing->finish(encoder, bytes, length);
}

bool cwi_buffer_write(cwi_buffer *buffer, size_t offset, const void *bytes, size_t length) {
    size_t end;
    if (__builtin_add_overflow(offset, length, &end)) return false;
    if (end > buffer->capacity) {
        size_t capacity = end < 1 << 16 ? 1 << 16 : end + end / 2;
        uint8_t *grown = realloc(buffer->bytes, capacity);
        if (!grown) return false;
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    if (offset > buffer->length) memset(buffer->bytes + buffer->length, 0, offset - buffer->length);
    memcpy(buffer->bytes + offset, bytes, length);
    if (end > buffer->length) buffer->length = end;
    return true;
}
