#include "CWebImageBenchmarkPeers.h"

#include <stdio.h>

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
