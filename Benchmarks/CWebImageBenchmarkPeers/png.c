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
