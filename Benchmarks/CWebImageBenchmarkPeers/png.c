#include "CWebImageBenchmarkPeers.h"

#include <string.h>

#include <png.h>

struct reader {
    const uint8_t *data;
    size_t length;
};

static void read_data(png_structp png, png_bytep bytes, size_t count) {
    struct reader *reader = png_get_io_ptr(png);
    if (count > reader->length) png_error(png, "too short");
    memcpy(bytes, reader->data, count);
    reader->data += count;
    reader->length -= count;
}

bool peer_decode_png(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    struct reader reader = {data, length};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_read_fn(png, &reader, read_data);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
    png_read_update_info(png, info);
    size_t stride = png_get_rowbytes(png, info), height = png_get_image_height(png, info);
    bool fits = stride * height <= capacity;
    if (fits) {
        for (size_t y = 0; y < height; y++) png_read_row(png, pixels + stride * y, NULL);
        png_read_end(png, NULL);
    }
    png_destroy_read_struct(&png, &info, NULL);
    return fits;
}

struct writer {
    uint8_t *data;
    size_t capacity;
    size_t length;
};

static void write_data(png_structp png, png_bytep bytes, size_t count) {
    struct writer *writer = png_get_io_ptr(png);
    if (count > writer->capacity - writer->length) png_error(png, "too long");
    memcpy(writer->data + writer->length, bytes, count);
    writer->length += count;
}

static void flush_data(png_structp png) { (void)png; }

size_t peer_encode_png(
    const uint8_t *pixels, uint32_t width, uint32_t height, int level, uint8_t *data, size_t capacity) {
    struct writer writer = {data, capacity, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &writer, write_data, flush_data);
    png_set_compression_level(png, level);
    png_set_IHDR(
        png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
        PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_set_filler(png, 0, PNG_FILLER_AFTER);
    for (uint32_t y = 0; y < height; y++) png_write_row(png, pixels + (size_t)width * 4 * y);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return writer.length;
}
