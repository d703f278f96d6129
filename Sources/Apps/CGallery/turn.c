#include "CGallery.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

// The limit of libjpeg's memory: two sets of coefficients of 150 million pixels.
static const long memory_limit = 1L << 30;

typedef struct turning {
    struct jpeg_decompress_struct source;
    struct jpeg_compress_struct target;
    struct jpeg_error_mgr errors;
    jmp_buf escape;
    char *message;
    bool transposes, mirrors_columns, mirrors_rows;
    // The coefficients of the target, for each component.
    jvirt_barray_ptr arrays[MAX_COMPONENTS];
    struct jpeg_destination_mgr destination;
    uint8_t *bytes;
    size_t capacity;
} turning;

static void error_exit(j_common_ptr jpeg) {
    turning *turn = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    snprintf(turn->message, sizeof((gallery_jpeg *)0)->message, "%s", text);
    longjmp(turn->escape, 1);
}

// libjpeg invents what a damaged file lacks; the blocks of such a file are not moved.
static void emit_message(j_common_ptr jpeg, int level) {
    if (level < 0) error_exit(jpeg);
}

static void ignore_message(j_common_ptr jpeg) { (void)jpeg; }

static JDIMENSION rounded_up(long length, long unit) { return (JDIMENSION)((length + unit - 1) / unit); }

// MARK: Size

// The sides of what is moved as a whole, in pixels: a block, or the blocks of all components that cover the same pixels.
static int unit_width(j_decompress_ptr source) {
    return source->num_components == 1 ? DCTSIZE : source->max_h_samp_factor * DCTSIZE;
}

static int unit_height(j_decompress_ptr source) {
    return source->num_components == 1 ? DCTSIZE : source->max_v_samp_factor * DCTSIZE;
}

// Mirroring takes a unit that is only partly within the image to the other edge, where there is no such unit.
static bool is_exact(const turning *turn) {
    const struct jpeg_decompress_struct *source = &turn->source;
    bool mirrors_width = turn->transposes ? turn->mirrors_rows : turn->mirrors_columns;
    bool mirrors_height = turn->transposes ? turn->mirrors_columns : turn->mirrors_rows;
    return !(mirrors_width && source->image_width % (unsigned)unit_width((j_decompress_ptr)source) != 0)
        && !(mirrors_height && source->image_height % (unsigned)unit_height((j_decompress_ptr)source) != 0);
}

// Asks for the target's coefficients, before libjpeg allocates those of the source.
static void request_arrays(turning *turn) {
    j_decompress_ptr source = &turn->source;
    JDIMENSION columns = rounded_up(source->image_width, unit_width(source));
    JDIMENSION rows = rounded_up(source->image_height, unit_height(source));
    for (int index = 0; index < source->num_components; index++) {
        jpeg_component_info *component = &source->comp_info[index];
        JDIMENSION across = source->num_components == 1 ? 1 : (JDIMENSION)component->h_samp_factor;
        JDIMENSION down = source->num_components == 1 ? 1 : (JDIMENSION)component->v_samp_factor;
        JDIMENSION width = columns * across, height = rows * down;
        turn->arrays[index] = source->mem->request_virt_barray(
            (j_common_ptr)source, JPOOL_IMAGE, TRUE, turn->transposes ? height : width,
            turn->transposes ? width : height, turn->transposes ? across : down);
    }
}

static void set_parameters(turning *turn) {
    j_decompress_ptr source = &turn->source;
    j_compress_ptr target = &turn->target;
    jpeg_copy_critical_parameters(source, target);
    target->write_JFIF_header = source->saw_JFIF_marker;
    target->optimize_coding = TRUE;
    target->arith_code = source->arith_code;
    if (source->progressive_mode) jpeg_simple_progression(target);
    if (target->num_components == 1) target->comp_info[0].h_samp_factor = target->comp_info[0].v_samp_factor = 1;
    if (!turn->transposes) return;
    target->image_width = source->image_height;
    target->image_height = source->image_width;
#if JPEG_LIB_VERSION >= 70
    target->jpeg_width = target->image_width;
    target->jpeg_height = target->image_height;
#endif
    UINT16 density = target->X_density;
    target->X_density = target->Y_density;
    target->Y_density = density;
    for (int index = 0; index < target->num_components; index++) {
        jpeg_component_info *component = &target->comp_info[index];
        int factor = component->h_samp_factor;
        component->h_samp_factor = component->v_samp_factor;
        component->v_samp_factor = factor;
    }
    for (int index = 0; index < NUM_QUANT_TBLS; index++) {
        JQUANT_TBL *table = target->quant_tbl_ptrs[index];
        for (int row = 0; table && row < DCTSIZE; row++) {
            for (int column = 0; column < row; column++) {
                UINT16 value = table->quantval[row * DCTSIZE + column];
                table->quantval[row * DCTSIZE + column] = table->quantval[column * DCTSIZE + row];
                table->quantval[column * DCTSIZE + row] = value;
            }
        }
    }
}

// MARK: Coefficients

// Mirroring changes the sign of the frequencies that are odd in that direction.
static void turn_block(const turning *turn, const JCOEF *from, JCOEF *to) {
    for (int row = 0; row < DCTSIZE; row++) {
        for (int column = 0; column < DCTSIZE; column++) {
            JCOEF value = turn->transposes ? from[column * DCTSIZE + row] : from[row * DCTSIZE + column];
            bool is_odd = (turn->mirrors_columns && column % 2) != (turn->mirrors_rows && row % 2);
            to[row * DCTSIZE + column] = is_odd ? (JCOEF)-value : value;
        }
    }
}

static void turn_component(turning *turn, int index, jvirt_barray_ptr *source_arrays) {
    j_common_ptr jpeg = (j_common_ptr)&turn->source;
    struct jpeg_memory_mgr *memory = turn->source.mem;
    jpeg_component_info *component = &turn->source.comp_info[index];
    JDIMENSION source_width = component->width_in_blocks, source_height = component->height_in_blocks;
    JDIMENSION width = turn->transposes ? source_height : source_width;
    JDIMENSION height = turn->transposes ? source_width : source_height;
    for (JDIMENSION row = 0; row < height; row++) {
        JBLOCKROW to = memory->access_virt_barray(jpeg, turn->arrays[index], row, 1, TRUE)[0];
        for (JDIMENSION column = 0; column < width; column++) {
            JDIMENSION x = turn->mirrors_columns ? width - 1 - column : column;
            JDIMENSION y = turn->mirrors_rows ? height - 1 - row : row;
            JDIMENSION source_row = turn->transposes ? x : y, source_column = turn->transposes ? y : x;
            JBLOCKROW from = memory->access_virt_barray(jpeg, source_arrays[index], source_row, 1, FALSE)[0];
            turn_block(turn, from[source_column], to[column]);
        }
    }
}

// MARK: Markers

static void save_markers(j_decompress_ptr source) {
    jpeg_save_markers(source, JPEG_COM, 0xFFFF);
    for (int number = 0; number < 16; number++) jpeg_save_markers(source, JPEG_APP0 + number, 0xFFFF);
}

static bool has_text(jpeg_saved_marker_ptr marker, const char *text, unsigned length) {
    return marker->data_length >= length && memcmp(marker->data, text, length) == 0;
}

static void write_markers(turning *turn) {
    j_compress_ptr target = &turn->target;
    for (jpeg_saved_marker_ptr marker = turn->source.marker_list; marker; marker = marker->next) {
        // libjpeg writes these itself.
        if (target->write_JFIF_header && marker->marker == JPEG_APP0 && has_text(marker, "JFIF", 5)) continue;
        if (target->write_Adobe_marker && marker->marker == JPEG_APP0 + 14 && has_text(marker, "Adobe", 5)) continue;
        jpeg_write_marker(target, marker->marker, marker->data, marker->data_length);
    }
}

static bool has_more(const struct jpeg_source_mgr *source) {
    for (size_t index = 0; index < source->bytes_in_buffer; index++)
        if (source->next_input_byte[index] != 0) return true;
    return false;
}

// MARK: File

// libjpeg's own destination does not tell where its buffer is after a failure.
static void grow(turning *turn, size_t used) {
    size_t capacity = turn->capacity ? turn->capacity * 2 : 1 << 20;
    uint8_t *bytes = realloc(turn->bytes, capacity);
    if (!bytes) ERREXIT1(&turn->target, JERR_OUT_OF_MEMORY, 0);
    turn->bytes = bytes;
    turn->capacity = capacity;
    turn->destination.next_output_byte = bytes + used;
    turn->destination.free_in_buffer = capacity - used;
}

static void init_destination(j_compress_ptr jpeg) { grow(jpeg->client_data, 0); }

static boolean empty_output_buffer(j_compress_ptr jpeg) {
    turning *turn = jpeg->client_data;
    grow(turn, turn->capacity);
    return TRUE;
}

static void term_destination(j_compress_ptr jpeg) { (void)jpeg; }

static gallery_turn_status run(turning *turn, const uint8_t *bytes, size_t length) {
    if (setjmp(turn->escape)) return GALLERY_TURN_FAILED;
    j_decompress_ptr source = &turn->source;
    j_compress_ptr target = &turn->target;
    jpeg_create_decompress(source);
    jpeg_create_compress(target);
    source->mem->max_memory_to_use = memory_limit;
    jpeg_mem_src(source, bytes, length);
    save_markers(source);
    jpeg_read_header(source, TRUE);
    if (!is_exact(turn)) return GALLERY_TURN_INEXACT;
    request_arrays(turn);
    jvirt_barray_ptr *source_arrays = jpeg_read_coefficients(source);
    set_parameters(turn);
    for (int index = 0; index < source->num_components; index++) turn_component(turn, index, source_arrays);
    turn->destination.init_destination = init_destination;
    turn->destination.empty_output_buffer = empty_output_buffer;
    turn->destination.term_destination = term_destination;
    target->dest = &turn->destination;
    jpeg_write_coefficients(target, turn->arrays);
    write_markers(turn);
    jpeg_finish_compress(target);
    jpeg_finish_decompress(source);
    return has_more(source->src) ? GALLERY_TURN_HAS_MORE : GALLERY_TURN_OK;
}

gallery_turn_status gallery_turn_jpeg(
    const uint8_t *bytes, size_t length, bool transposes, bool mirrors_columns, bool mirrors_rows, gallery_jpeg *result) {
    memset(result, 0, sizeof *result);
    turning *turn = calloc(1, sizeof *turn);
    if (!turn) return GALLERY_TURN_FAILED;
    turn->message = result->message;
    turn->transposes = transposes;
    turn->mirrors_columns = mirrors_columns;
    turn->mirrors_rows = mirrors_rows;
    turn->source.err = turn->target.err = jpeg_std_error(&turn->errors);
    turn->errors.error_exit = error_exit;
    turn->errors.emit_message = emit_message;
    turn->errors.output_message = ignore_message;
    turn->source.client_data = turn->target.client_data = turn;
    gallery_turn_status status = run(turn, bytes, length);
    jpeg_destroy_compress(&turn->target);
    jpeg_destroy_decompress(&turn->source);
    if (status == GALLERY_TURN_OK) {
        result->bytes = turn->bytes;
        result->length = turn->capacity - turn->destination.free_in_buffer;
    } else {
        free(turn->bytes);
    }
    free(turn);
    return status;
}
