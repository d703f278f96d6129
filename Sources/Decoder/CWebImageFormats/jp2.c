#ifndef CWI_WITHOUT_JP2

#include "jp2.h"

#include <stdio.h>

/// The code stream that OpenJPEG reads.
typedef struct {
    const uint8_t *bytes;
    size_t length, position;
    /// Replaces the length of a tile part that is cut short, from `patch_offset` on; 0 for none.
    size_t patch_offset;
    uint8_t patch[4];
    cwi_jp2_message message;
} jp2_stream;

static OPJ_SIZE_T read_bytes(void *destination, OPJ_SIZE_T count, void *data) {
    jp2_stream *stream = data;
    if (stream->position >= stream->length) return (OPJ_SIZE_T)-1;
    size_t rest = stream->length - stream->position, taken = count < rest ? count : rest;
    memcpy(destination, stream->bytes + stream->position, taken);
    for (size_t index = 0; stream->patch_offset > 0 && index < sizeof stream->patch; index++) {
        size_t offset = stream->patch_offset + index;
        if (offset >= stream->position && offset - stream->position < taken)
            ((uint8_t *)destination)[offset - stream->position] = stream->patch[index];
    }
    stream->position += taken;
    return taken;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *data) {
    jp2_stream *stream = data;
    if (count < 0) return -1;
    size_t rest = stream->length - stream->position;
    if ((size_t)count > rest) {
        stream->position = stream->length;
        return (OPJ_OFF_T)rest;
    }
    stream->position += (size_t)count;
    return count;
}

static OPJ_BOOL seek_read(OPJ_OFF_T offset, void *data) {
    jp2_stream *stream = data;
    if (offset < 0 || (size_t)offset > stream->length) return OPJ_FALSE;
    stream->position = (size_t)offset;
    return OPJ_TRUE;
}

void cwi_jp2_note_error(const char *message, void *data) {
    cwi_jp2_message *first = data;
    if (first->text[0]) return;
    snprintf(first->text, sizeof first->text, "%s", message);
    first->text[strcspn(first->text, "\n")] = 0;
}

void cwi_jp2_ignore_message(const char *message, void *data) {}

typedef struct {
    cwi_file file;
    /// With a copy of the palette.
    cwi_jp2_picture picture;
    jp2_stream memory;
    opj_codec_t *codec;
    opj_stream_t *stream;
    opj_image_t *image;
} jp2_file;

static void close_codec(jp2_file *jp2) {
    if (jp2->image) opj_image_destroy(jp2->image);
    if (jp2->stream) opj_stream_destroy(jp2->stream);
    if (jp2->codec) opj_destroy_codec(jp2->codec);
    jp2->image = NULL;
    jp2->stream = NULL;
    jp2->codec = NULL;
}

static void close_file(cwi_file *file) {
    close_codec((jp2_file *)file);
    free((void *)((jp2_file *)file)->picture.palette);
    free(file);
}

static cwi_result damaged(const jp2_file *jp2, const char *otherwise) {
    const char *text = jp2->memory.message.text;
    // OpenJPEG has no other way to tell.
    if (strstr(text, "memory")) return cwi_failure(CWI_NO_MEMORY, text);
    return cwi_failure(CWI_CORRUPT, text[0] ? text : otherwise);
}

/// Opens the codec, and reads the header of the code stream. OpenJPEG never sees the boxes around it.
///
/// Without `is_strict`, damaged data is skipped. OpenJPEG 2.5.0 then writes out of bounds if it uses threads.
static cwi_result open_codec(jp2_file *jp2, bool is_strict) {
    const cwi_jp2_picture *picture = &jp2->picture;
    jp2->memory =
        (jp2_stream){.bytes = jp2->file.bytes + picture->codestream_offset, .length = picture->codestream_length};
    if (!is_strict) {
        jp2->memory.patch_offset = picture->cut_offset;
        for (int index = 0; index < 4; index++)
            jp2->memory.patch[index] = (uint8_t)(picture->cut_length >> (24 - 8 * index));
    }
    jp2->codec = opj_create_decompress(OPJ_CODEC_J2K);
    jp2->stream = opj_stream_create(1 << 16, OPJ_TRUE);
    if (!jp2->codec || !jp2->stream) return cwi_failure(CWI_NO_MEMORY, NULL);
    opj_set_error_handler(jp2->codec, cwi_jp2_note_error, &jp2->memory.message);
    opj_set_warning_handler(jp2->codec, cwi_jp2_ignore_message, NULL);
    opj_set_info_handler(jp2->codec, cwi_jp2_ignore_message, NULL);
    opj_stream_set_read_function(jp2->stream, read_bytes);
    opj_stream_set_skip_function(jp2->stream, skip_bytes);
    opj_stream_set_seek_function(jp2->stream, seek_read);
    opj_stream_set_user_data(jp2->stream, &jp2->memory, NULL);
    opj_stream_set_user_data_length(jp2->stream, picture->codestream_length);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    if (!opj_setup_decoder(jp2->codec, &parameters)) return cwi_failure(CWI_NO_MEMORY, NULL);
    opj_decoder_set_strict_mode(jp2->codec, is_strict);
    if (is_strict && jp2->file.choice.thread_count > 1)
        opj_codec_set_threads(jp2->codec, jp2->file.choice.thread_count);
    if (!opj_read_header(jp2->stream, jp2->codec, &jp2->image)) return damaged(jp2, "a damaged header");
    if (jp2->image->numcomps != picture->component_count) return damaged(jp2, "another number of components");
    return cwi_success();
}

/// Decodes rows into `image`.
static cwi_result decode_image(jp2_file *jp2, int reduction, cwi_jp2_rows rows, bool is_strict) {
    close_codec(jp2);
    cwi_result result = open_codec(jp2, is_strict);
    if (result.status != CWI_OK) return result;
    if (reduction > 0 && !opj_set_decoded_resolution_factor(jp2->codec, (uint32_t)reduction))
        return damaged(jp2, "fewer resolutions than the header says");
    const cwi_jp2_picture *picture = &jp2->picture;
    uint32_t top = cwi_jp2_top(picture, rows, reduction), bottom = cwi_jp2_bottom(picture, rows, reduction);
    if ((top > picture->y0 || bottom < picture->y1) &&
        !opj_set_decode_area(
            jp2->codec, jp2->image, (int32_t)picture->x0, (int32_t)top, (int32_t)picture->x1, (int32_t)bottom))
        return damaged(jp2, "rows that cannot be decoded");
    if (!opj_decode(jp2->codec, jp2->stream, jp2->image)) return damaged(jp2, "the image data is damaged");
    // OpenJPEG also reports errors of transforms that it skips, and goes on.
    return opj_end_decompress(jp2->codec, jp2->stream) ? cwi_success() : damaged(jp2, "the image data is damaged");
}

/// Decodes strips one after the other.
static cwi_result decode_strips(jp2_file *jp2, int reduction, uint8_t *pixels, size_t stride) {
    const cwi_jp2_picture *picture = &jp2->picture;
    if (!picture->is_complete) return damaged(jp2, "tiles are missing");
    cwi_jp2_rows all = cwi_jp2_all_rows(picture, reduction);
    uint64_t end = (uint64_t)all.first + all.count, height = jp2->file.strip_height;
    for (uint64_t row = all.first; row < end;) {
        // Strips begin where all components have a row.
        uint64_t next = (row / height + 1) * height;
        cwi_jp2_rows rows = {(uint32_t)row, (uint32_t)((next < end ? next : end) - row)};
        cwi_result result = decode_image(jp2, reduction, rows, true);
        if (result.status != CWI_OK) return result;
        if (!cwi_jp2_copy_pixels(picture, jp2->image, reduction, rows, pixels + (row - all.first) * stride, stride))
            return damaged(jp2, "a component without pixels");
        row = next;
    }
    close_codec(jp2);
    return cwi_success();
}

static cwi_result decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial) {
    jp2_file *jp2 = (jp2_file *)file;
    const cwi_jp2_picture *picture = &jp2->picture;
    cwi_jp2_rows rows = cwi_jp2_all_rows(picture, reduction);
    if (file->strip_height > 0 && file->strip_height < rows.count) return decode_strips(jp2, reduction, pixels, stride);
    cwi_result result = decode_image(jp2, reduction, rows, true);
    bool is_whole = result.status == CWI_OK && picture->is_complete;
    if (!is_whole && !is_partial) return result.status == CWI_OK ? damaged(jp2, "tiles are missing") : result;
    // Where OpenJPEG skips damaged data, 2.5.0 reads out of bounds if it also skips resolutions, or if packet headers are apart.
    if (result.status == CWI_CORRUPT && reduction == 0 && !picture->has_packed_headers)
        result = decode_image(jp2, 0, rows, false);
    if (result.status != CWI_OK) return result;
    uint32_t width = cwi_jp2_kept(file->info.origin_x, file->info.width, reduction);
    uint32_t height = cwi_jp2_kept(file->info.origin_y, file->info.height, reduction);
    memset(pixels, 0, stride * (height - 1) + (size_t)width * 4 * (size_t)file->info.bytes_per_channel);
    if (!cwi_jp2_copy_pixels(picture, jp2->image, reduction, rows, pixels, stride))
        return damaged(jp2, "a component without pixels");
    if (is_partial) *is_partial = !is_whole;
    close_codec(jp2);
    return cwi_success();
}

static const cwi_reading reading = {.close = close_file, .decode = decode};

static cwi_result read_info(jp2_file *jp2) {
    const cwi_jp2_picture *picture = &jp2->picture;
    cwi_file_info *info = &jp2->file.info;
    info->width = info->crop_width = picture->width;
    info->height = info->crop_height = picture->height;
    cwi_result result = cwi_check_size(&jp2->file.limits, info->width, info->height);
    if (result.status != CWI_OK) return result;
    info->depth = picture->depth;
    info->is_gray = picture->colors == CWI_JP2_GRAY;
    info->is_ink = picture->colors == CWI_JP2_INK;
    info->bytes_per_channel = cwi_jp2_is_deep(picture) ? 2 : 1;
    info->has_alpha = picture->has_alpha;
    // Pixels of 16 bits are always straight.
    info->is_premultiplied = picture->is_premultiplied && info->bytes_per_channel == 1;
    info->profile = jp2->file.bytes + picture->profile_offset;
    info->profile_length = picture->profile_length;
    info->resolution_count = picture->resolution_count;
    info->origin_x = (picture->x0 + picture->dx - 1) / picture->dx;
    info->origin_y = (picture->y0 + picture->dy - 1) / picture->dy;
    return result;
}

const uint8_t cwi_jp2_exif_identifier[16] = "JpgTiffExif->JP2";
const uint8_t cwi_jp2_xmp_identifier[16] = {0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8,
                                            0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC};

/// Finds the `uuid` boxes of metadata.
static void read_metadata(cwi_file *file) {
    cwi_file_info *info = &file->info;
    for (size_t offset = 0; file->length - offset >= 8;) {
        const uint8_t *box = file->bytes + offset;
        size_t length = (size_t)box[0] << 24 | (size_t)box[1] << 16 | (size_t)box[2] << 8 | box[3];
        // The last one extends to the end. Boxes of 4 GiB and more hold no metadata.
        if (length == 0) length = file->length - offset;
        if (length < 8 || length > file->length - offset) return;
        if (length > 24 && memcmp(box + 4, "uuid", 4) == 0) {
            if (!info->exif && memcmp(box + 8, cwi_jp2_exif_identifier, 16) == 0) {
                info->exif = box + 24;
                info->exif_length = length - 24;
            } else if (!info->xmp && memcmp(box + 8, cwi_jp2_xmp_identifier, 16) == 0) {
                info->xmp = box + 24;
                info->xmp_length = length - 24;
            }
        }
        offset += length;
    }
}

cwi_result cwi_open_jp2(
    const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file) {
    if (choice.page > 0) return cwi_no_page(1);
    if (!choice.jp2) return cwi_failure(CWI_UNSUPPORTED, "a file whose headers were not read");
    jp2_file *jp2 = cwi_make_file(sizeof *jp2, &reading, bytes, length, limits, choice);
    if (!jp2) return cwi_failure(CWI_NO_MEMORY, NULL);
    jp2->picture = *choice.jp2;
    jp2->file.choice.jp2 = NULL;
    jp2->picture.palette = NULL;
    cwi_result result = read_info(jp2);
    size_t palette_size = choice.jp2->palette_count * sizeof(uint16_t);
    if (result.status == CWI_OK && palette_size > 0) {
        uint16_t *palette = malloc(palette_size);
        if (palette) memcpy(palette, choice.jp2->palette, palette_size);
        jp2->picture.palette = palette;
        if (!palette) result = cwi_failure(CWI_NO_MEMORY, NULL);
    }
    if (result.status != CWI_OK) {
        close_file(&jp2->file);
        return result;
    }
    if (choice.reads_metadata) read_metadata(&jp2->file);
    *file = &jp2->file;
    return result;
}

#endif
