#include "CWebImageBenchmarkPeers.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

bool peer_decode_jpeg(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, data, length);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_EXT_RGBA;
    jpeg_start_decompress(&jpeg);
    size_t stride = (size_t)jpeg.output_width * 4;
    bool fits = stride * jpeg.output_height <= capacity;
    while (fits && jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW row = pixels + stride * jpeg.output_scanline;
        jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_destroy_decompress(&jpeg);
    return fits;
}

// Compresses to memory; what has no room there goes to memory of libjpeg's own.
static void encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, int quality, bool is_progressive, unsigned char **data,
    unsigned long *length) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, data, length);
    jpeg.image_width = width;
    jpeg.image_height = height;
    jpeg.input_components = 4;
    jpeg.in_color_space = JCS_EXT_RGBX;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, quality, TRUE);
    if (is_progressive) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)width * 4 * jpeg.next_scanline);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
}

size_t peer_encode_progressive_jpeg(
    const uint8_t *pixels, uint32_t width, uint32_t height, int quality, uint8_t *data, size_t capacity) {
    unsigned char *output = data;
    unsigned long length = capacity;
    encode(pixels, width, height, quality, true, &output, &length);
    return output == data ? length : 0;
}

size_t peer_encode_jpeg(const uint8_t *pixels, uint32_t width, uint32_t height, int quality) {
    unsigned char *data = NULL;
    unsigned long length = 0;
    encode(pixels, width, height, quality, false, &data, &length);
    free(data);
    return length;
}
