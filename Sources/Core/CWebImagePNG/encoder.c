#include "CWebImagePNG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

struct cwi_png_encoder {
    png_structp png;
    png_infop info;
    jmp_buf escape;
    cwi_png_status status;
    uint8_t *buffer;
    size_t length;
    size_t capacity;
    size_t row_byte_count;
    char message[160];
};

static void fail(png_structp png, png_const_charp message) {
    cwi_png_encoder *encoder = png_get_error_ptr(png);
    snprintf(encoder->message, sizeof encoder->message, "%s", message);
    longjmp(encoder->escape, 1);
}

static void ignore_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void write_data(png_structp png, png_bytep bytes, size_t count) {
    cwi_png_encoder *encoder = png_get_io_ptr(png);
    if (count > encoder->capacity - encoder->length) {
        size_t capacity = encoder->capacity * 2;
        if (capacity - encoder->length < count) capacity = encoder->length + count;
        if (capacity < 64 * 1024) capacity = 64 * 1024;
        uint8_t *buffer = realloc(encoder->buffer, capacity);
        if (!buffer) {
            encoder->status = CWI_PNG_OUT_OF_MEMORY;
            png_error(png, "out of memory");
        }
        encoder->buffer = buffer;
        encoder->capacity = capacity;
    }
    memcpy(encoder->buffer + encoder->length, bytes, count);
    encoder->length += count;
}

static void flush_data(png_structp png) { (void)png; }

cwi_png_encoder *cwi_png_encoder_create(void) {
    cwi_png_encoder *encoder = calloc(1, sizeof *encoder);
    // For every failure that libpng reports; it has no error codes.
    if (encoder) encoder->status = CWI_PNG_CORRUPT;
    return encoder;
}

cwi_png_status cwi_png_encoder_start(
    cwi_png_encoder *encoder, uint32_t width, uint32_t height, bool has_alpha, int level, int filter) {
    if (setjmp(encoder->escape)) return encoder->status;
    encoder->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, encoder, fail, ignore_warning);
    if (encoder->png) encoder->info = png_create_info_struct(encoder->png);
    if (!encoder->info) return CWI_PNG_OUT_OF_MEMORY;
    png_set_write_fn(encoder->png, encoder, write_data, flush_data);
    png_set_compression_level(encoder->png, level);
    // The flags of filters are in the order of their numbers.
    png_set_filter(encoder->png, PNG_FILTER_TYPE_BASE, filter < 0 ? PNG_ALL_FILTERS : PNG_FILTER_NONE << filter);
    png_set_IHDR(
        encoder->png, encoder->info, width, height, 8, has_alpha ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB,
        PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(encoder->png, encoder->info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(encoder->png, encoder->info);
    if (!has_alpha) png_set_filler(encoder->png, 0, PNG_FILLER_AFTER);
    encoder->row_byte_count = (size_t)width * 4;
    return CWI_PNG_OK;
}

void cwi_png_encoder_destroy(cwi_png_encoder *encoder) {
    if (!encoder) return;
    png_destroy_write_struct(&encoder->png, &encoder->info);
    free(encoder->buffer);
    free(encoder);
}

const char *cwi_png_encoder_message(const cwi_png_encoder *encoder) { return encoder->message; }

cwi_png_status cwi_png_write_rows(cwi_png_encoder *encoder, const uint8_t *pixels, size_t stride, uint32_t row_count) {
    if (setjmp(encoder->escape)) return encoder->status;
    if (stride < encoder->row_byte_count) return CWI_PNG_CORRUPT;
    for (uint32_t row = 0; row < row_count; row++) png_write_row(encoder->png, pixels + stride * row);
    return CWI_PNG_OK;
}

cwi_png_status cwi_png_finish(cwi_png_encoder *encoder, uint8_t **data, size_t *length) {
    if (setjmp(encoder->escape)) return encoder->status;
    png_write_end(encoder->png, encoder->info);
    *data = encoder->buffer;
    *length = encoder->length;
    encoder->buffer = NULL;
    encoder->length = 0;
    encoder->capacity = 0;
    return CWI_PNG_OK;
}
