#include "CWebImagePNG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

struct cwi_png_decoder {
    png_structp png;
    png_infop info;
    jmp_buf escape;
    const uint8_t *data;
    size_t length;
    size_t offset;
    // libpng asked for bytes behind the last one.
    bool reached_end;
    // Over all passes.
    uint64_t rows_left;
    char message[160];
};

static void fail(png_structp png, png_const_charp message) {
    cwi_png_decoder *decoder = png_get_error_ptr(png);
    snprintf(decoder->message, sizeof decoder->message, "%s", message);
    longjmp(decoder->escape, 1);
}

static void ignore_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void read_data(png_structp png, png_bytep bytes, size_t count) {
    cwi_png_decoder *decoder = png_get_io_ptr(png);
    if (count > decoder->length - decoder->offset) {
        decoder->reached_end = true;
        png_error(png, "the data ends early");
    }
    memcpy(bytes, decoder->data + decoder->offset, count);
    decoder->offset += count;
}

static cwi_png_status failure(const cwi_png_decoder *decoder) {
    return decoder->reached_end ? CWI_PNG_TRUNCATED : CWI_PNG_CORRUPT;
}

cwi_png_decoder *cwi_png_decoder_create(const uint8_t *data, size_t length) {
    cwi_png_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->data = data;
    decoder->length = length;
    if (setjmp(decoder->escape)) {
        cwi_png_decoder_destroy(decoder);
        return NULL;
    }
    decoder->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, decoder, fail, ignore_warning);
    if (decoder->png) decoder->info = png_create_info_struct(decoder->png);
    if (!decoder->info) {
        cwi_png_decoder_destroy(decoder);
        return NULL;
    }
    png_set_read_fn(decoder->png, decoder, read_data);
    return decoder;
}

void cwi_png_decoder_destroy(cwi_png_decoder *decoder) {
    if (!decoder) return;
    png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
    free(decoder);
}

const char *cwi_png_decoder_message(const cwi_png_decoder *decoder) { return decoder->message; }

// Chunks that do not change a pixel are skipped unread: a kilobyte of compressed text can unpack to a gigabyte.
static void skip_metadata(png_structp png) {
    static const png_byte names[] =
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, (int)(sizeof names / 5));
    png_set_chunk_malloc_max(png, 8 * 1024 * 1024);
    png_set_chunk_cache_max(png, 128);
}

cwi_png_status cwi_png_read_header(cwi_png_decoder *decoder, uint32_t dimension_limit, cwi_png_header *header) {
    png_structp png = decoder->png;
    if (setjmp(decoder->escape)) return failure(decoder);
    png_set_user_limits(png, dimension_limit, dimension_limit);
    skip_metadata(png);
    png_read_info(png, decoder->info);

    // Every kind of picture becomes RGBA with 8 bits; 16 bits are rounded, not cut off.
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
    header->pass_count = (uint32_t)png_set_interlace_handling(png);
    header->width = png_get_image_width(png, decoder->info);
    header->height = png_get_image_height(png, decoder->info);
    header->has_alpha = (png_get_color_type(png, decoder->info) & PNG_COLOR_MASK_ALPHA) != 0
        || png_get_valid(png, decoder->info, PNG_INFO_tRNS) != 0;
    png_read_update_info(png, decoder->info);
    decoder->rows_left = (uint64_t)header->pass_count * header->height;
    return CWI_PNG_OK;
}

cwi_png_status cwi_png_read_rows(cwi_png_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t row_count) {
    if (setjmp(decoder->escape)) return failure(decoder);
    if (png_get_rowbytes(decoder->png, decoder->info) > stride || row_count > decoder->rows_left) {
        return CWI_PNG_CORRUPT;
    }
    decoder->rows_left -= row_count;
    for (uint32_t row = 0; row < row_count; row++) png_read_row(decoder->png, pixels + stride * row, NULL);
    return CWI_PNG_OK;
}

cwi_png_status cwi_png_read_end(cwi_png_decoder *decoder) {
    if (setjmp(decoder->escape)) return failure(decoder);
    png_read_end(decoder->png, NULL);
    return CWI_PNG_OK;
}
