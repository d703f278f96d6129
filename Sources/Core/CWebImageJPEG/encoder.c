#include "CWebImageJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

struct cwi_jpeg_encoder {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    jmp_buf escape;
    cwi_jpeg_status status;
    uint8_t *buffer;
    size_t capacity;
    char message[JMSG_LENGTH_MAX];
};

static void error_exit(j_common_ptr jpeg) {
    cwi_jpeg_encoder *encoder = jpeg->client_data;
    jpeg->err->format_message(jpeg, encoder->message);
    encoder->status = jpeg->err->msg_code == JERR_OUT_OF_MEMORY ? CWI_JPEG_OUT_OF_MEMORY : CWI_JPEG_CORRUPT;
    longjmp(encoder->escape, 1);
}

static void ignore_message(j_common_ptr jpeg) { (void)jpeg; }

static void grow(cwi_jpeg_encoder *encoder, size_t used) {
    size_t capacity = encoder->capacity ? encoder->capacity * 2 : 64 * 1024;
    uint8_t *buffer = realloc(encoder->buffer, capacity);
    if (!buffer) ERREXIT1(&encoder->jpeg, JERR_OUT_OF_MEMORY, 0);
    encoder->buffer = buffer;
    encoder->capacity = capacity;
    encoder->destination.next_output_byte = buffer + used;
    encoder->destination.free_in_buffer = capacity - used;
}

static void init_destination(j_compress_ptr jpeg) { grow(jpeg->client_data, 0); }

static boolean empty_output_buffer(j_compress_ptr jpeg) {
    cwi_jpeg_encoder *encoder = jpeg->client_data;
    grow(encoder, encoder->capacity);
    return TRUE;
}

static void term_destination(j_compress_ptr jpeg) { (void)jpeg; }

cwi_jpeg_encoder *cwi_jpeg_encoder_create(void) {
    cwi_jpeg_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) return NULL;
    encoder->jpeg.err = jpeg_std_error(&encoder->errors);
    encoder->errors.error_exit = error_exit;
    encoder->errors.output_message = ignore_message;
    encoder->jpeg.client_data = encoder;
    return encoder;
}

cwi_jpeg_status cwi_jpeg_encoder_start(
    cwi_jpeg_encoder *encoder, uint32_t width, uint32_t height, cwi_jpeg_encoder_settings settings) {
    struct jpeg_compress_struct *jpeg = &encoder->jpeg;
    if (setjmp(encoder->escape)) return encoder->status;
    jpeg_create_compress(jpeg);
    encoder->destination.init_destination = init_destination;
    encoder->destination.empty_output_buffer = empty_output_buffer;
    encoder->destination.term_destination = term_destination;
    jpeg->dest = &encoder->destination;
    jpeg->image_width = width;
    jpeg->image_height = height;
    jpeg->input_components = 4;
    jpeg->in_color_space = JCS_EXT_RGBX;
    jpeg_set_defaults(jpeg);
    if (settings.is_gray) jpeg_set_colorspace(jpeg, JCS_GRAYSCALE);
    jpeg_set_quality(jpeg, settings.quality, TRUE);
    // The factors of chroma are 1; those of luma are its samples per sample of chroma.
    jpeg->comp_info[0].h_samp_factor = settings.chroma_columns;
    jpeg->comp_info[0].v_samp_factor = settings.chroma_rows;
    jpeg->optimize_coding = settings.optimizes_codes;
    if (settings.is_progressive) jpeg_simple_progression(jpeg);
    jpeg_start_compress(jpeg, TRUE);
    return CWI_JPEG_OK;
}

void cwi_jpeg_encoder_destroy(cwi_jpeg_encoder *encoder) {
    if (!encoder) return;
    jpeg_destroy_compress(&encoder->jpeg);
    free(encoder->buffer);
    free(encoder);
}

const char *cwi_jpeg_encoder_message(const cwi_jpeg_encoder *encoder) { return encoder->message; }

cwi_jpeg_status cwi_jpeg_write_rows(
    cwi_jpeg_encoder *encoder, const uint8_t *pixels, size_t stride, uint32_t row_count) {
    if (setjmp(encoder->escape)) return encoder->status;
    if (stride / 4 < encoder->jpeg.image_width) return CWI_JPEG_CORRUPT;
    for (uint32_t row = 0; row < row_count; row++) {
        // libjpeg only reads the rows; its type lacks the const.
        JSAMPROW start = (JSAMPROW)(uintptr_t)(pixels + stride * row);
        jpeg_write_scanlines(&encoder->jpeg, &start, 1);
    }
    return CWI_JPEG_OK;
}

cwi_jpeg_status cwi_jpeg_finish(cwi_jpeg_encoder *encoder, uint8_t **data, size_t *length) {
    if (setjmp(encoder->escape)) return encoder->status;
    jpeg_finish_compress(&encoder->jpeg);
    *length = encoder->capacity - encoder->destination.free_in_buffer;
    *data = encoder->buffer;
    encoder->buffer = NULL;
    encoder->capacity = 0;
    return CWI_JPEG_OK;
}
