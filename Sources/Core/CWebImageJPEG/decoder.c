#include "CWebImageJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

// After jpeglib.h, whose configuration selects the messages.
#include <jerror.h>

#include "spool.h"

struct cwi_jpeg_decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    jmp_buf escape;
    cwi_jpeg_status status;
    // The source contains the file's last bytes.
    bool is_end;
    // libjpeg read past the end of the file.
    bool reached_end;
    // The number of bytes to skip that have not arrived.
    size_t skip_count;
    // Between start_pass and the next.
    bool is_in_pass;
    // cwi_jpeg_consume has read every scan.
    bool is_complete;
    // The current scan adds nothing to the output, and its data have not been passed yet, or have.
    enum { NOT_SKIPPED, TO_BE_SKIPPED, SKIPPED } skipped_scan;
    // The number of bytes of a scan that is to be skipped which contain no marker.
    size_t searched_count;
    // The frame header.
    struct frame {
        JDIMENSION width, height;
        int component_count, precision;
        boolean is_progressive, is_arithmetic;
    } frame;
    cwi_jpeg_spool spool;
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
    case JERR_TFILE_READ:
    case JERR_TFILE_WRITE:
        fail(decoder, CWI_JPEG_SPOOL_FAILED);
    default:
        fail(decoder, decoder->reached_end ? CWI_JPEG_TRUNCATED : CWI_JPEG_CORRUPT);
    }
}

static bool is_sequential_huffman(const struct jpeg_decompress_struct *jpeg) {
    return !jpeg->progressive_mode && !jpeg->arith_code;
}

// After damage, libjpeg continues with gray or repeated blocks and a warning; here, decoding ends. Warnings that do not
// affect pixels (stray bytes between markers, unusual version numbers) are ignored.
static void emit_message(j_common_ptr jpeg, int level) {
    cwi_jpeg_decoder *decoder = jpeg->client_data;
    if (level >= 0 || decoder->skipped_scan == SKIPPED) return;
    switch (jpeg->err->msg_code) {
    case JWRN_HUFF_BAD_CODE:
        if (is_sequential_huffman(&decoder->jpeg) && !decoder->reached_end) fail(decoder, CWI_JPEG_UNKNOWN_CODE);
        fail(decoder, decoder->reached_end ? CWI_JPEG_TRUNCATED : CWI_JPEG_CORRUPT);
    case JWRN_HIT_MARKER:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
        fail(decoder, decoder->reached_end ? CWI_JPEG_TRUNCATED : CWI_JPEG_CORRUPT);
    default:
        break;
    }
}

static void ignore_message(j_common_ptr jpeg) { (void)jpeg; }

static void ignore_source(j_decompress_ptr jpeg) { (void)jpeg; }

static const JOCTET end_marker[2] = {0xFF, JPEG_EOI};

// Before the end of the file, FALSE makes libjpeg return to its caller, to continue later from a place where it can. At
// the end, it gets the end marker. A file that lacks only this marker is complete; if more is missing, decoding fails
// at the marker or, between two scans, has_all_detail finds out.
static boolean fill_input_buffer(j_decompress_ptr jpeg) {
    cwi_jpeg_decoder *decoder = jpeg->client_data;
    if (!decoder->is_end) return FALSE;
    decoder->reached_end = true;
    jpeg->src->next_input_byte = end_marker;
    jpeg->src->bytes_in_buffer = sizeof end_marker;
    return TRUE;
}

static void skip_input_data(j_decompress_ptr jpeg, long count) {
    if (count <= 0) return;
    cwi_jpeg_decoder *decoder = jpeg->client_data;
    size_t available = jpeg->src->bytes_in_buffer;
    size_t skipped = (size_t)count < available ? (size_t)count : available;
    jpeg->src->next_input_byte += skipped;
    jpeg->src->bytes_in_buffer -= skipped;
    decoder->skip_count += (size_t)count - skipped;
}

cwi_jpeg_decoder *cwi_jpeg_decoder_create(void) {
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
    decoder->source.next_input_byte = end_marker;
    decoder->jpeg.src = &decoder->source;
    return decoder;
}

void cwi_jpeg_decoder_destroy(cwi_jpeg_decoder *decoder) {
    if (!decoder) return;
    jpeg_destroy_decompress(&decoder->jpeg);
    free(decoder);
}

cwi_jpeg_spool *cwi_jpeg_spool_of(j_common_ptr jpeg) { return &((cwi_jpeg_decoder *)jpeg->client_data)->spool; }

const char *cwi_jpeg_decoder_message(const cwi_jpeg_decoder *decoder) { return decoder->message; }

int cwi_jpeg_decoder_system_error(const cwi_jpeg_decoder *decoder) { return decoder->spool.system_error; }

void cwi_jpeg_set_source(cwi_jpeg_decoder *decoder, const uint8_t *data, size_t length, bool is_end) {
    // After the end, the end marker is repeated.
    if (decoder->reached_end) return;
    size_t skipped = decoder->skip_count < length ? decoder->skip_count : length;
    decoder->skip_count -= skipped;
    decoder->source.next_input_byte = data + skipped;
    decoder->source.bytes_in_buffer = length - skipped;
    decoder->is_end = is_end;
}

size_t cwi_jpeg_release_source(cwi_jpeg_decoder *decoder) {
    if (decoder->reached_end) return 0;
    size_t length = decoder->source.bytes_in_buffer;
    decoder->source.next_input_byte = end_marker;
    decoder->source.bytes_in_buffer = 0;
    // A read suspends instead of reading freed memory or a false end.
    decoder->is_end = false;
    return length;
}

cwi_jpeg_status cwi_jpeg_read_header(cwi_jpeg_decoder *decoder, cwi_jpeg_header *header) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->escape)) return decoder->status;
    if (jpeg_read_header(jpeg, TRUE) == JPEG_SUSPENDED) return CWI_JPEG_NEEDS_BYTES;
    header->width = jpeg->image_width;
    header->height = jpeg->image_height;
    header->component_count = (uint32_t)jpeg->num_components;
    header->is_cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    header->has_multiple_scans = jpeg_has_multiple_scans(jpeg);
    header->is_arithmetic = jpeg->arith_code;
    header->is_sequential_huffman = is_sequential_huffman(jpeg);
    header->coefficient_byte_count = cwi_jpeg_coefficient_byte_count(jpeg);
    header->spool_window_byte_count = cwi_jpeg_spool_window_byte_count(jpeg);
    decoder->frame = (struct frame){
        jpeg->image_width,    jpeg->image_height,     jpeg->num_components,
        jpeg->data_precision, jpeg->progressive_mode, jpeg->arith_code,
    };
    return CWI_JPEG_OK;
}

// A second frame header between scans is an error, but libjpeg detects it after it has overwritten the first one;
// reading rows with another number of components would then exceed their array.
static void restore_frame(cwi_jpeg_decoder *decoder) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    jpeg->image_width = decoder->frame.width;
    jpeg->image_height = decoder->frame.height;
    jpeg->num_components = decoder->frame.component_count;
    jpeg->data_precision = decoder->frame.precision;
    jpeg->progressive_mode = decoder->frame.is_progressive;
    jpeg->arith_code = decoder->frame.is_arithmetic;
}

cwi_jpeg_status cwi_jpeg_start(
    cwi_jpeg_decoder *decoder, unsigned scale_numerator, size_t memory_limit, int spool_descriptor, uint32_t *width,
    uint32_t *height) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->escape)) return decoder->status;
    if (spool_descriptor >= 0) cwi_jpeg_spool_to(jpeg, spool_descriptor);
    bool is_cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = is_cmyk ? JCS_CMYK : JCS_EXT_RGBA;
    jpeg->scale_num = scale_numerator;
    jpeg->scale_denom = 8;
    // Several scans are read by cwi_jpeg_consume, a few rows at a time, so that the caller can stop in between.
    jpeg->buffered_image = jpeg_has_multiple_scans(jpeg);
    jpeg->mem->max_memory_to_use = (long)memory_limit;
    // It only waits for bytes where it would read several scans itself.
    jpeg_start_decompress(jpeg);
    *width = jpeg->output_width;
    *height = jpeg->output_height;
    return CWI_JPEG_OK;
}

// Whether a block is one sample of the output, the DC coefficient: at an eighth; blocks of subsampled chroma are larger.
static bool has_blocks_of_one_sample(const jpeg_component_info *component) {
#if JPEG_LIB_VERSION >= 70
    return component->DCT_h_scaled_size == 1 && component->DCT_v_scaled_size == 1;
#else
    return component->DCT_scaled_size == 1;
#endif
}

// Whether no further scan is needed: every component had one and, in a progressive image, every coefficient that the output depends on its
// last bit.
static bool has_all_detail(const struct jpeg_decompress_struct *jpeg) {
    for (int component = 0; component < jpeg->num_components; component++) {
        // Set when the component's first scan starts.
        if (!jpeg->comp_info[component].quant_table) return false;
        if (!jpeg->coef_bits) continue;
        int count = has_blocks_of_one_sample(&jpeg->comp_info[component]) ? 1 : DCTSIZE2;
        for (int i = 0; i < count; i++) {
            if (jpeg->coef_bits[component][i] != 0) return false;
        }
    }
    return true;
}

// Whether no sample of the output depends on the current scan.
static bool is_unneeded_scan(const struct jpeg_decompress_struct *jpeg) {
    // The arithmetic decoder would decode zeros instead.
    return jpeg->progressive_mode && !jpeg->arith_code && jpeg->Ss > 0 && has_blocks_of_one_sample(jpeg->cur_comp_info[0]);
}

// Moves the source behind the data of a scan, to a marker or to the end of the file; false if neither has arrived.
static bool skip_scan_data(cwi_jpeg_decoder *decoder) {
    struct jpeg_source_mgr *source = &decoder->source;
    const JOCTET *start = source->next_input_byte;
    size_t offset = decoder->searched_count;
    while (offset + 1 < source->bytes_in_buffer) {
        const JOCTET *found = memchr(start + offset, 0xFF, source->bytes_in_buffer - 1 - offset);
        offset = found ? (size_t)(found - start) : source->bytes_in_buffer - 1;
        if (!found) break;
        JOCTET code = found[1];
        bool is_data = code == 0 || (code >= JPEG_RST0 && code <= JPEG_RST0 + 7);
        // Before a marker, 0xFF may be repeated.
        if (!is_data && code != 0xFF) break;
        offset += is_data ? 2 : 1;
    }
    bool is_at_marker = offset + 1 < source->bytes_in_buffer;
    if (!is_at_marker && !decoder->is_end) {
        decoder->searched_count = offset;
        return false;
    }
    if (!is_at_marker) offset = source->bytes_in_buffer;
    source->next_input_byte += offset;
    source->bytes_in_buffer -= offset;
    return true;
}

cwi_jpeg_status cwi_jpeg_consume(
    cwi_jpeg_decoder *decoder, unsigned row_count, unsigned scan_limit, bool *is_complete) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    *is_complete = false;
    if (setjmp(decoder->escape)) return decoder->status;
    for (unsigned row = 0; row < row_count && !*is_complete; row++) {
        if (decoder->skipped_scan == TO_BE_SKIPPED) {
            if (!skip_scan_data(decoder)) return CWI_JPEG_NEEDS_BYTES;
            // libjpeg finds the marker instead of data, and leaves the blocks as they are but for coefficients of the first.
            decoder->skipped_scan = SKIPPED;
        }
        int result = jpeg_consume_input(jpeg);
        if (result == JPEG_SCAN_COMPLETED) decoder->skipped_scan = NOT_SKIPPED;
        if (result == JPEG_REACHED_SOS && is_unneeded_scan(jpeg)) {
            decoder->skipped_scan = TO_BE_SKIPPED;
            decoder->searched_count = 0;
        }
        bool is_last = result == JPEG_REACHED_EOI;
        // The last scan may be complete when the end is reached: missing bits raise a warning. But missing scans raise
        // none, since they only add detail, and arithmetic coding never does.
        if (decoder->reached_end && (jpeg->arith_code || (is_last && !has_all_detail(jpeg)))) {
            return CWI_JPEG_TRUNCATED;
        }
        if ((unsigned)jpeg->input_scan_number > scan_limit) {
            return CWI_JPEG_TOO_MANY_SCANS;
        }
        if (result == JPEG_SUSPENDED) return CWI_JPEG_NEEDS_BYTES;
        *is_complete = decoder->is_complete = is_last;
    }
    return CWI_JPEG_OK;
}

unsigned cwi_jpeg_whole_scan_count(const cwi_jpeg_decoder *decoder) {
    int scan = decoder->jpeg.input_scan_number;
    return scan > 1 ? (unsigned)scan - 1 : 0;
}

cwi_jpeg_status cwi_jpeg_start_pass(cwi_jpeg_decoder *decoder, bool is_last) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->escape)) return decoder->status;
    if (!jpeg->buffered_image) return CWI_JPEG_CORRUPT;
    restore_frame(decoder);
    // The previous pass was of a complete scan, so its end does not wait for bytes.
    if (decoder->is_in_pass && !jpeg_finish_output(jpeg)) return CWI_JPEG_NEEDS_BYTES;
    decoder->is_in_pass = false;
    bool is_complete = decoder->is_complete;
    int scan = (int)cwi_jpeg_whole_scan_count(decoder);
    // Arithmetic coding does not tell where the good part of the first scan ends.
    if (!is_complete && scan == 0 && (jpeg->arith_code || !is_last)) return CWI_JPEG_TRUNCATED;
    // Of a scan that is still being read, libjpeg only outputs the rows read so far. Of earlier scans it outputs all
    // rows, with what it has read of later ones, so the number hardly matters otherwise.
    if (is_complete || scan == 0) scan = jpeg->input_scan_number;
    bool has_whole_scan = is_complete || scan < jpeg->input_scan_number;
    jpeg->do_block_smoothing = has_whole_scan && (is_last || scan == 1);
    jpeg_start_output(jpeg, scan);
    decoder->is_in_pass = true;
    return CWI_JPEG_OK;
}

cwi_jpeg_status cwi_jpeg_read_rows(
    cwi_jpeg_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t row_limit, uint32_t *row_count) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    *row_count = 0;
    if (setjmp(decoder->escape)) return decoder->status;
    if (stride / 4 < jpeg->output_width || jpeg->out_color_components != 4) return CWI_JPEG_CORRUPT;
    if (row_limit > jpeg->output_height - jpeg->output_scanline) return CWI_JPEG_CORRUPT;
    while (*row_count < row_limit) {
        JSAMPROW row = pixels + stride * *row_count;
        if (jpeg_read_scanlines(jpeg, &row, 1) != 1) return CWI_JPEG_NEEDS_BYTES;
        // Arithmetic coding pads missing data with zeros without a warning.
        if (jpeg->arith_code && !jpeg->buffered_image && decoder->reached_end) return CWI_JPEG_TRUNCATED;
        *row_count += 1;
    }
    return CWI_JPEG_OK;
}

cwi_jpeg_status cwi_jpeg_crop(cwi_jpeg_decoder *decoder, uint32_t *left, uint32_t *width) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->escape)) return decoder->status;
    if (*width == 0 || *width > jpeg->output_width || *left > jpeg->output_width - *width) return CWI_JPEG_CORRUPT;
    JDIMENSION start = *left, length = *width;
    jpeg_crop_scanline(jpeg, &start, &length);
    *left = start;
    *width = jpeg->output_width;
    return CWI_JPEG_OK;
}

cwi_jpeg_status cwi_jpeg_skip_rows(cwi_jpeg_decoder *decoder, uint32_t row_count) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->escape)) return decoder->status;
    if (row_count >= jpeg->output_height - jpeg->output_scanline) return CWI_JPEG_CORRUPT;
    if (jpeg_skip_scanlines(jpeg, row_count) != row_count) return CWI_JPEG_NEEDS_BYTES;
    // Arithmetic coding pads missing data with zeros without a warning.
    if (jpeg->arith_code && !jpeg->buffered_image && decoder->reached_end) return CWI_JPEG_TRUNCATED;
    return CWI_JPEG_OK;
}

void cwi_jpeg_release_image(cwi_jpeg_decoder *decoder) {
    if (setjmp(decoder->escape)) return;
    jpeg_abort_decompress(&decoder->jpeg);
    decoder->is_in_pass = false;
}
