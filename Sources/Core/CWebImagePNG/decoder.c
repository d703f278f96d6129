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
    bool is_interlaced;
    // Whether 16 bits are kept.
    bool is_deep;
    cwi_png_rows rows;
    // Set while data are taken.
    uint8_t *pixels;
    size_t stride;
    // The first row in `pixels`; not 0 for a window only.
    uint32_t first_row;
    bool is_window;
    uint32_t row_limit;
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

// The number of rows with their own pixels, over all passes. A narrow image has none in some passes.
static uint64_t row_count(uint32_t width, uint32_t height, bool is_interlaced) {
    if (!is_interlaced) return height;
    uint64_t count = 0;
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
        if (PNG_PASS_COLS(width, pass) > 0) count += PNG_PASS_ROWS(height, pass);
    }
    return count;
}

// Called before the first pixel. Every kind of image becomes RGBA; 16 bits that are not kept are rounded, not truncated.
static void begin_rows(png_structp png, png_infop info) {
    cwi_png_decoder *decoder = png_get_progressive_ptr(png);
    png_set_expand(png);
    if (decoder->is_deep) {
        uint16_t one = 1;
        uint8_t first;
        memcpy(&first, &one, 1);
        if (first) png_set_swap(png);
    } else {
        png_set_scale_16(png);
    }
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, decoder->is_deep ? 0xFFFF : 0xFF, PNG_FILLER_AFTER);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    if (png_get_rowbytes(png, info) > decoder->stride || (!decoder->is_window && height > decoder->row_limit)) {
        png_error(png, "rows do not fit");
    }
    if (decoder->is_window && png_get_interlace_type(png, info) != PNG_INTERLACE_NONE) png_error(png, "interlaced");
    decoder->is_interlaced = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    decoder->rows.missing_count = row_count(width, height, decoder->is_interlaced);
    // Otherwise libpng ignores damaged pixel data.
    png_set_benign_errors(png, 0);
}

// In an interlaced image, rows are repeated in each pass, with blocks of one color in place of missing pixels, and
// within a pass while blocks are higher than a row.
static void take_row(png_structp png, png_bytep row, png_uint_32 y, int pass) {
    cwi_png_decoder *decoder = png_get_progressive_ptr(png);
    if (!row || y < decoder->first_row) return;
    if (decoder->is_window && y - decoder->first_row >= decoder->row_limit) png_error(png, "more rows than fit");
    y -= decoder->first_row;
    if (y >= decoder->row_limit) return;
    png_progressive_combine_row(png, decoder->pixels + decoder->stride * y, row);
    y += decoder->first_row;
    if (pass == 0 && y >= decoder->rows.shown_count) decoder->rows.shown_count = y + 1;
    if (!decoder->is_interlaced || PNG_ROW_IN_INTERLACE_PASS(y, pass)) decoder->rows.missing_count--;
}

static void put_number(uint8_t *bytes, size_t number) {
    for (int index = 0; index < 4; index++) bytes[index] = (uint8_t)(number >> (24 - 8 * index));
}

// Passes a whole chunk to libpng. Its checksum is 0, since libpng does not check it.
static void process_chunk(cwi_png_decoder *decoder, const char name[4], const uint8_t *content, size_t length) {
    uint8_t start[8], checksum[4] = {0};
    put_number(start, length);
    memcpy(start + 4, name, 4);
    png_process_data(decoder->png, decoder->info, start, sizeof start);
    // libpng does not write to it.
    if (length > 0) png_process_data(decoder->png, decoder->info, (png_bytep)content, length);
    png_process_data(decoder->png, decoder->info, checksum, sizeof checksum);
}

cwi_png_decoder *cwi_png_decoder_create(void) {
    cwi_png_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->rows.missing_count = 1;
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
    png_set_progressive_read_fn(decoder->png, decoder, begin_rows, take_row, NULL);
    png_set_crc_action(decoder->png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
    png_set_chunk_malloc_max(decoder->png, 1024 * 1024);
    // Some programs announce a smaller window than they use; browsers accept that.
    png_set_option(decoder->png, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);
    return decoder;
}

void cwi_png_decoder_destroy(cwi_png_decoder *decoder) {
    if (!decoder) return;
    png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
    free(decoder);
}

const char *cwi_png_decoder_message(const cwi_png_decoder *decoder) { return decoder->message; }

cwi_png_status cwi_png_decoder_start(
    cwi_png_decoder *decoder, const uint8_t header[13], const uint8_t *palette, size_t palette_length,
    const uint8_t *transparency, size_t transparency_length, uint32_t dimension_limit, bool is_deep) {
    static uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    // The format's limits; libpng buffers a chunk until it is complete.
    if (palette_length > 256 * 3 || transparency_length > 256) return CWI_PNG_CORRUPT;
    if (setjmp(decoder->escape)) return CWI_PNG_CORRUPT;
    decoder->is_deep = is_deep;
    png_set_user_limits(decoder->png, dimension_limit, dimension_limit);
    png_process_data(decoder->png, decoder->info, signature, sizeof signature);
    process_chunk(decoder, "IHDR", header, 13);
    if (palette_length > 0) process_chunk(decoder, "PLTE", palette, palette_length);
    if (transparency_length > 0) process_chunk(decoder, "tRNS", transparency, transparency_length);
    return CWI_PNG_OK;
}

cwi_png_status cwi_png_decoder_take(
    cwi_png_decoder *decoder, const uint8_t *bytes, size_t count, uint8_t *pixels, size_t stride, uint32_t row_limit) {
    if (setjmp(decoder->escape)) return CWI_PNG_CORRUPT;
    decoder->pixels = pixels;
    decoder->stride = stride;
    decoder->row_limit = row_limit;
    process_chunk(decoder, "IDAT", bytes, count);
    return CWI_PNG_OK;
}

cwi_png_status cwi_png_decoder_take_rows(
    cwi_png_decoder *decoder, const uint8_t *bytes, size_t count, uint8_t *window, size_t stride, uint32_t first_row,
    uint32_t row_limit) {
    decoder->is_window = true;
    decoder->first_row = first_row;
    return cwi_png_decoder_take(decoder, bytes, count, window, stride, row_limit);
}

cwi_png_rows cwi_png_decoder_rows(const cwi_png_decoder *decoder) { return decoder->rows; }
