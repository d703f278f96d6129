#include "CWebImageJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

// After jpeglib.h, whose settings decide which messages there are.
#include <jerror.h>

struct cwi_jpeg_decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    jmp_buf escape;
    cwi_jpeg_status status;
    // libjpeg asked for bytes behind the last one.
    bool reached_end;
    char message[JMSG_LENGTH_MAX];
};

static _Noreturn void fail(cwi_jpeg_decoder *decoder, cwi_jpeg_status status) {
    decoder->jpeg.err->format_message((j_common_ptr)&decoder->jpeg, decoder->message);
    decoder->status = status;
    longjmp(decoder->escape, 1);
}

static void error_exit(j_common_ptr jpeg) {
    cwi_jpeg_decoder *decoder = jpeg->client_data;
    switch (jpeg->err->msg_code) {
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOT_COMPILED:
        fail(decoder, CWI_JPEG_UNSUPPORTED);
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE:
        fail(decoder, CWI_JPEG_OUT_OF_MEMORY);
    default:
        fail(decoder, decoder->reached_end ? CWI_JPEG_TRUNCATED : CWI_JPEG_CORRUPT);
    }
}

// libjpeg goes on after damage with grey or repeated blocks and a warning; such a picture is refused. Warnings that
// leave every pixel in place (stray bytes between markers, odd version numbers) are not.
static void emit_message(j_common_ptr jpeg, int level) {
    if (level >= 0) return;
    cwi_jpeg_decoder *decoder = jpeg->client_data;
    switch (jpeg->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
        fail(decoder, decoder->reached_end ? CWI_JPEG_TRUNCATED : CWI_JPEG_CORRUPT);
    default:
        break;
    }
}

static void ignore_message(j_common_ptr jpeg) { (void)jpeg; }

static void ignore_source(j_decompress_ptr jpeg) { (void)jpeg; }

// Ends the data with the marker that ends a JPEG. A baseline file that lacks nothing but this marker is complete; if
// more is missing, decoding fails at the marker.
static boolean fill_input_buffer(j_decompress_ptr jpeg) {
    static const JOCTET end[2] = {0xFF, JPEG_EOI};
    cwi_jpeg_decoder *decoder = jpeg->client_data;
    decoder->reached_end = true;
    jpeg->src->next_input_byte = end;
    jpeg->src->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void skip_input_data(j_decompress_ptr jpeg, long count) {
    if (count <= 0) return;
    size_t available = jpeg->src->bytes_in_buffer;
    size_t skipped = (size_t)count < available ? (size_t)count : available;
    jpeg->src->next_input_byte += skipped;
    jpeg->src->bytes_in_buffer -= skipped;
}

cwi_jpeg_decoder *cwi_jpeg_decoder_create(const uint8_t *data, size_t length) {
    cwi_jpeg_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->jpeg.err = jpeg_std_error(&decoder->errors);
    decoder->errors.error_exit = error_exit;
    decoder->errors.emit_message = emit_message;
    decoder->errors.output_message = ignore_message;
    decoder->jpeg.client_data = decoder;
    if (setjmp(decoder->escape)) {
        cwi_jpeg_decoder_destroy(decoder);
        return NULL;
    }
    jpeg_create_decompress(&decoder->jpeg);
    decoder->source.init_source = ignore_source;
    decoder->source.fill_input_buffer = fill_input_buffer;
    decoder->source.skip_input_data = skip_input_data;
    decoder->source.resync_to_restart = jpeg_resync_to_restart;
    decoder->source.term_source = ignore_source;
    decoder->source.next_input_byte = data;
    decoder->source.bytes_in_buffer = length;
    decoder->jpeg.src = &decoder->source;
    return decoder;
}

void cwi_jpeg_decoder_destroy(cwi_jpeg_decoder *decoder) {
    if (!decoder) return;
    jpeg_destroy_decompress(&decoder->jpeg);
    free(decoder);
}

const char *cwi_jpeg_decoder_message(const cwi_jpeg_decoder *decoder) { return decoder->message; }

cwi_jpeg_status cwi_jpeg_read_header(cwi_jpeg_decoder *decoder, cwi_jpeg_header *header) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->escape)) return decoder->status;
    jpeg_read_header(jpeg, TRUE);
    header->width = jpeg->image_width;
    header->height = jpeg->image_height;
    header->component_count = (uint32_t)jpeg->num_components;
    header->is_cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    header->has_multiple_scans = jpeg_has_multiple_scans(jpeg);
    return CWI_JPEG_OK;
}

cwi_jpeg_status cwi_jpeg_start(
    cwi_jpeg_decoder *decoder, unsigned scale_numerator, size_t memory_limit, uint32_t *width, uint32_t *height) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->escape)) return decoder->status;
    bool is_cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = is_cmyk ? JCS_CMYK : JCS_EXT_RGBA;
    jpeg->scale_num = scale_numerator;
    jpeg->scale_denom = 8;
    // Several scans are read by cwi_jpeg_consume, a few rows at a time, so that the caller can stop in between.
    jpeg->buffered_image = jpeg_has_multiple_scans(jpeg);
    jpeg->mem->max_memory_to_use = (long)memory_limit;
    jpeg_start_decompress(jpeg);
    *width = jpeg->output_width;
    *height = jpeg->output_height;
    return CWI_JPEG_OK;
}

cwi_jpeg_status cwi_jpeg_consume(
    cwi_jpeg_decoder *decoder, unsigned row_count, unsigned scan_limit, bool *is_complete) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    *is_complete = false;
    if (setjmp(decoder->escape)) return decoder->status;
    for (unsigned row = 0; row < row_count && !*is_complete; row++) {
        *is_complete = jpeg_consume_input(jpeg) == JPEG_REACHED_EOI;
        // Scans that are missing at the end raise no warning: they would only have added detail.
        if (decoder->reached_end) return CWI_JPEG_TRUNCATED;
        if ((unsigned)jpeg->input_scan_number > scan_limit) {
            snprintf(decoder->message, sizeof decoder->message, "more than %u scans", scan_limit);
            return CWI_JPEG_UNSUPPORTED;
        }
    }
    if (*is_complete) jpeg_start_output(jpeg, jpeg->input_scan_number);
    return CWI_JPEG_OK;
}

cwi_jpeg_status cwi_jpeg_read_rows(cwi_jpeg_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t row_count) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->escape)) return decoder->status;
    if (stride / 4 < jpeg->output_width || jpeg->out_color_components != 4) return CWI_JPEG_CORRUPT;
    if (row_count > jpeg->output_height - jpeg->output_scanline) return CWI_JPEG_CORRUPT;
    JDIMENSION first = jpeg->output_scanline;
    while (jpeg->output_scanline - first < row_count) {
        JSAMPROW row = pixels + stride * (jpeg->output_scanline - first);
        if (jpeg_read_scanlines(jpeg, &row, 1) != 1) return CWI_JPEG_CORRUPT;
    }
    // Arithmetic coding pads missing data with zeros and does not warn.
    if (jpeg->arith_code && decoder->reached_end) return CWI_JPEG_TRUNCATED;
    return CWI_JPEG_OK;
}
