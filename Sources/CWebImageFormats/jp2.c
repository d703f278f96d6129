#ifndef CWI_WITHOUT_JP2

#include "file.h"

#include <openjpeg.h>
#include <stdio.h>

typedef struct {
    const uint8_t *bytes;
    cwi_buffer output;
    size_t length, position;
    char message[CWI_MESSAGE_LENGTH];
} jp2_memory;

static OPJ_SIZE_T read_bytes(void *destination, OPJ_SIZE_T count, void *data) {
    jp2_memory *memory = data;
    if (memory->position >= memory->length) return (OPJ_SIZE_T)-1;
    size_t rest = memory->length - memory->position, taken = count < rest ? count : rest;
    memcpy(destination, memory->bytes + memory->position, taken);
    memory->position += taken;
    return taken;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *data) {
    jp2_memory *memory = data;
    if (count < 0) return -1;
    size_t rest = memory->length - memory->position;
    if ((size_t)count > rest) {
        memory->position = memory->length;
        return (OPJ_OFF_T)rest;
    }
    memory->position += (size_t)count;
    return count;
}

static OPJ_BOOL seek_read(OPJ_OFF_T offset, void *data) {
    jp2_memory *memory = data;
    if (offset < 0 || (size_t)offset > memory->length) return OPJ_FALSE;
    memory->position = (size_t)offset;
    return OPJ_TRUE;
}

/// Keeps the first message, which ends with a line feed.
static void note_error(const char *message, void *data) {
    jp2_memory *memory = data;
    if (memory->message[0]) return;
    snprintf(memory->message, sizeof memory->message, "%s", message);
    memory->message[strcspn(memory->message, "\n")] = 0;
}

static void ignore_message(const char *message, void *data) {}

typedef struct {
    cwi_file file;
    jp2_memory memory;
    opj_codec_t *codec;
    opj_stream_t *stream;
    opj_image_t *image;
    uint32_t channel_count;
    /// The index of the component with alpha; -1 for none.
    int alpha;
    bool is_ycc, is_cmyk;
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
    free(file);
}

static cwi_result damaged(const jp2_file *jp2, const char *otherwise) {
    return cwi_failure(CWI_CORRUPT, jp2->memory.message[0] ? jp2->memory.message : otherwise);
}

/// Opens the codec, and reads the header.
static cwi_result open_codec(jp2_file *jp2, bool is_strict) {
    jp2->memory = (jp2_memory){.bytes = jp2->file.bytes, .length = jp2->file.length};
    bool is_codestream = jp2->file.length > 1 && jp2->file.bytes[0] == 0xFF;
    jp2->codec = opj_create_decompress(is_codestream ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    jp2->stream = opj_stream_create(1 << 16, OPJ_TRUE);
    if (!jp2->codec || !jp2->stream) return cwi_failure(CWI_NO_MEMORY, NULL);
    opj_set_error_handler(jp2->codec, note_error, &jp2->memory);
    opj_set_warning_handler(jp2->codec, ignore_message, NULL);
    opj_set_info_handler(jp2->codec, ignore_message, NULL);
    opj_stream_set_read_function(jp2->stream, read_bytes);
    opj_stream_set_skip_function(jp2->stream, skip_bytes);
    opj_stream_set_seek_function(jp2->stream, seek_read);
    opj_stream_set_user_data(jp2->stream, &jp2->memory, NULL);
    opj_stream_set_user_data_length(jp2->stream, jp2->file.length);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    if (!opj_setup_decoder(jp2->codec, &parameters)) return cwi_failure(CWI_NO_MEMORY, NULL);
    opj_decoder_set_strict_mode(jp2->codec, is_strict);
    if (jp2->file.choice.thread_count > 1) opj_codec_set_threads(jp2->codec, jp2->file.choice.thread_count);
    if (!opj_read_header(jp2->stream, jp2->codec, &jp2->image)) return damaged(jp2, "a damaged header");
    return cwi_success();
}

/// The value of a component at a pixel, from 0 to 65535. Components may have fewer rows and columns than the image.
static inline int32_t value_at(const opj_image_comp_t *component, uint32_t x, uint32_t y, uint32_t dx, uint32_t dy) {
    uint32_t column = x * dx / component->dx, row = y * dy / component->dy;
    if (column >= component->w) column = component->w - 1;
    if (row >= component->h) row = component->h - 1;
    int64_t value = component->data[(size_t)row * component->w + column];
    int64_t highest = ((int64_t)1 << component->prec) - 1;
    if (component->sgnd) value += (int64_t)1 << (component->prec - 1);
    value = value < 0 ? 0 : value > highest ? highest : value;
    return (int32_t)((value * 65535 + highest / 2) / highest);
}

static inline int32_t clamped(double value) { return value <= 0 ? 0 : value >= 65535 ? 65535 : (int32_t)(value + 0.5); }

/// sYCC (IEC 61966-2-1, amendment 1) to sRGB.
static void convert_ycc(int32_t *color) {
    double y = color[0], blue = color[1] - 32768.0, red = color[2] - 32768.0;
    color[0] = clamped(y + 1.402 * red);
    color[1] = clamped(y - 0.344136 * blue - 0.714136 * red);
    color[2] = clamped(y + 1.772 * blue);
}

/// Copies components of 8 bits and one size, by far the most common ones. Returns false for others.
static bool copy_bytes(const jp2_file *jp2, const opj_image_t *image, uint8_t *pixels, size_t stride) {
    if (jp2->is_ycc || jp2->is_cmyk || jp2->file.info.bytes_per_channel != 1) return false;
    uint32_t last = image->numcomps < 3 ? 0 : 2, width = image->comps[0].w, height = image->comps[0].h;
    const opj_image_comp_t *channels[4] = {
        &image->comps[0], &image->comps[last / 2], &image->comps[last], jp2->alpha < 0 ? NULL : &image->comps[jp2->alpha]};
    for (int channel = 0; channel < 4; channel++) {
        const opj_image_comp_t *component = channels[channel];
        if (component && (component->prec != 8 || component->sgnd || component->w != width || component->h != height))
            return false;
    }
    for (int channel = 0; channel < 4; channel++) {
        for (uint32_t y = 0; y < height; y++) {
            uint8_t *target = pixels + y * stride + channel;
            const int32_t *source = channels[channel] ? channels[channel]->data + (size_t)y * width : NULL;
            for (uint32_t x = 0; x < width; x++) {
                int32_t value = source ? source[x] : 255;
                target[(size_t)x * 4] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
            }
        }
    }
    return true;
}

static void copy_pixels(const jp2_file *jp2, const opj_image_t *image, uint8_t *pixels, size_t stride) {
    if (copy_bytes(jp2, image, pixels, stride)) return;
    const cwi_file_info *info = &jp2->file.info;
    uint32_t dx = image->comps[0].dx, dy = image->comps[0].dy;
    // OpenJPEG applies palettes: then there are more components than the header has.
    bool is_gray = image->numcomps < 3;
    for (uint32_t y = 0; y < image->comps[0].h; y++) {
        uint8_t *row = pixels + y * stride;
        for (uint32_t x = 0; x < image->comps[0].w; x++) {
            int32_t color[4] = {0, 0, 0, 65535};
            for (uint32_t channel = 0; channel < 3; channel++)
                color[channel] = value_at(&image->comps[is_gray ? 0 : channel], x, y, dx, dy);
            if (jp2->is_ycc) convert_ycc(color);
            if (jp2->is_cmyk) {
                int64_t light = 65535 - value_at(&image->comps[3], x, y, dx, dy);
                for (int channel = 0; channel < 3; channel++)
                    color[channel] = (int32_t)((65535 - color[channel]) * light / 65535);
            }
            if (jp2->alpha >= 0) color[3] = value_at(&image->comps[jp2->alpha], x, y, dx, dy);
            for (int channel = 0; channel < 4; channel++) {
                uint16_t deep = (uint16_t)color[channel];
                if (info->bytes_per_channel == 2)
                    memcpy(row + (size_t)x * 8 + (size_t)channel * 2, &deep, 2);
                else
                    row[(size_t)x * 4 + (size_t)channel] = (uint8_t)((deep + 128) / 257);
            }
        }
    }
}

static uint32_t halved(uint32_t length, int times) {
    return (uint32_t)(((uint64_t)length + (1u << times) - 1) >> times);
}

static cwi_result decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial) {
    jp2_file *jp2 = (jp2_file *)file;
    close_codec(jp2);
    cwi_result result = open_codec(jp2, is_partial == NULL);
    if (result.status != CWI_OK) return result;
    if (reduction > 0 && !opj_set_decoded_resolution_factor(jp2->codec, (uint32_t)reduction))
        return damaged(jp2, "fewer resolutions than the header says");
    if (!opj_decode(jp2->codec, jp2->stream, jp2->image)) return damaged(jp2, "the image data is damaged");
    // A file without its end is decoded up to there.
    bool is_cut_short = !opj_end_decompress(jp2->codec, jp2->stream) || jp2->memory.message[0];
    if (is_cut_short && !is_partial) return damaged(jp2, "the image data is damaged");
    const opj_image_t *image = jp2->image;
    for (uint32_t index = 0; index < image->numcomps; index++) {
        const opj_image_comp_t *component = &image->comps[index];
        if (!component->data || component->w == 0 || component->h == 0 || component->prec == 0 || component->prec > 31)
            return damaged(jp2, "a component without pixels");
    }
    // The size after reduction depends on the position on the reference grid.
    uint32_t width = halved(file->info.width, reduction), height = halved(file->info.height, reduction);
    if (image->numcomps < jp2->channel_count || image->comps[0].w != width || image->comps[0].h != height)
        return damaged(jp2, "another size than the header says");
    copy_pixels(jp2, image, pixels, stride);
    if (is_partial) *is_partial = is_cut_short;
    return cwi_success();
}

static const cwi_reading reading = {.close = close_file, .decode = decode};

static int resolution_count(opj_codec_t *codec) {
    opj_codestream_info_v2_t *info = opj_get_cstr_info(codec);
    if (!info) return 1;
    uint32_t count = 1;
    if (info->m_default_tile_info.tccp_info) count = info->m_default_tile_info.tccp_info[0].numresolutions;
    for (uint32_t index = 1; info->m_default_tile_info.tccp_info && index < info->nbcomps; index++) {
        uint32_t other = info->m_default_tile_info.tccp_info[index].numresolutions;
        if (other < count) count = other;
    }
    opj_destroy_cstr_info(&info);
    return count < 1 ? 1 : (int)count;
}

static cwi_result read_info(jp2_file *jp2) {
    const opj_image_t *image = jp2->image;
    cwi_file_info *info = &jp2->file.info;
    if (image->numcomps == 0) return cwi_failure(CWI_CORRUPT, "no component");
    uint32_t count = image->numcomps;
    info->width = info->crop_width = image->comps[0].w;
    info->height = info->crop_height = image->comps[0].h;
    cwi_result result = cwi_check_size(&jp2->file.limits, info->width, info->height);
    if (result.status != CWI_OK) return result;
    for (uint32_t index = 0; index < count; index++) {
        // A component with more rows than the first would take more memory than is counted.
        const opj_image_comp_t *component = &image->comps[index];
        if (component->w > info->width || component->h > info->height || component->dx == 0 || component->dy == 0)
            return cwi_failure(CWI_UNSUPPORTED, "components larger than the first");
        if ((int)component->prec > info->depth || index == 0) info->depth = (int)component->prec;
    }
    jp2->is_cmyk = image->color_space == OPJ_CLRSPC_CMYK && count >= 4;
    info->is_gray = count < 3;
    info->bytes_per_channel = info->depth > 8 ? 2 : 1;
    jp2->alpha = -1;
    for (uint32_t index = 1; index < count; index++)
        if (image->comps[index].alpha && jp2->alpha < 0) jp2->alpha = (int)index;
    // As other readers do, a second or fourth channel of unknown purpose counts as alpha.
    if (jp2->alpha < 0 && !jp2->is_cmyk && (count == 2 || count == 4)) jp2->alpha = (int)count - 1;
    info->has_alpha = jp2->alpha >= 0;
    jp2->channel_count = jp2->is_cmyk ? 4 : info->is_gray ? 1 : 3;
    if (jp2->alpha >= (int)jp2->channel_count) jp2->channel_count = (uint32_t)jp2->alpha + 1;
    bool is_subsampled = count >= 3 && image->comps[1].dx > image->comps[0].dx;
    jp2->is_ycc = !info->is_gray && (image->color_space == OPJ_CLRSPC_SYCC || image->color_space == OPJ_CLRSPC_EYCC ||
                                     (image->color_space == OPJ_CLRSPC_UNSPECIFIED && is_subsampled));
    info->profile = image->icc_profile_buf;
    info->profile_length = image->icc_profile_buf ? image->icc_profile_len : 0;
    bool is_at_origin = image->x0 == 0 && image->y0 == 0;
    info->resolution_count = is_at_origin ? resolution_count(jp2->codec) : 1;
    return result;
}

// As Exif tools and the XMP specification (part 3, 1.1.4) say.
static const uint8_t exif_identifier[16] = "JpgTiffExif->JP2";
static const uint8_t xmp_identifier[16] = {0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8,
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
            if (!info->exif && memcmp(box + 8, exif_identifier, 16) == 0) {
                info->exif = box + 24;
                info->exif_length = length - 24;
            } else if (!info->xmp && memcmp(box + 8, xmp_identifier, 16) == 0) {
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
    jp2_file *jp2 = cwi_make_file(sizeof *jp2, &reading, bytes, length, limits, choice);
    if (!jp2) return cwi_failure(CWI_NO_MEMORY, NULL);
    cwi_result result = open_codec(jp2, !choice.is_prefix);
    if (result.status == CWI_OK) result = read_info(jp2);
    else if (choice.is_prefix) result.status = CWI_TRUNCATED;
    if (result.status != CWI_OK) {
        close_file(&jp2->file);
        return result;
    }
    if (choice.reads_metadata) read_metadata(&jp2->file);
    *file = &jp2->file;
    return result;
}

// MARK: Writing

typedef struct {
    cwi_encoder encoder;
    jp2_memory memory;
} jp2_encoder;

static OPJ_SIZE_T write_bytes(void *source, OPJ_SIZE_T count, void *data) {
    jp2_memory *memory = data;
    if (!cwi_buffer_write(&memory->output, memory->position, source, count)) return (OPJ_SIZE_T)-1;
    memory->position += count;
    return count;
}

static OPJ_OFF_T skip_output(OPJ_OFF_T count, void *data) {
    ((jp2_memory *)data)->position += (size_t)count;
    return count;
}

static OPJ_BOOL seek_output(OPJ_OFF_T offset, void *data) {
    ((jp2_memory *)data)->position = (size_t)offset;
    return OPJ_TRUE;
}

static void close_encoder(cwi_encoder *encoder) {
    free(((jp2_encoder *)encoder)->memory.output.bytes);
    free(encoder);
}

static opj_image_t *make_image(const cwi_encoding *encoding, const uint8_t *pixels, size_t stride) {
    uint32_t channels = encoding->has_alpha ? 4 : 3;
    opj_image_cmptparm_t parameters[4] = {0};
    for (uint32_t index = 0; index < channels; index++)
        parameters[index] =
            (opj_image_cmptparm_t){.dx = 1, .dy = 1, .w = encoding->width, .h = encoding->height, .prec = 8, .bpp = 8};
    opj_image_t *image = opj_image_create(channels, parameters, OPJ_CLRSPC_SRGB);
    if (!image) return NULL;
    image->x1 = encoding->width;
    image->y1 = encoding->height;
    if (encoding->has_alpha) image->comps[3].alpha = 1;
    for (uint32_t y = 0; y < encoding->height; y++) {
        for (uint32_t x = 0; x < encoding->width; x++) {
            for (uint32_t channel = 0; channel < channels; channel++)
                image->comps[channel].data[(size_t)y * encoding->width + x] = pixels[y * stride + (size_t)x * 4 + channel];
        }
    }
    return image;
}

static void set_up(opj_cparameters_t *parameters, const cwi_encoding *encoding) {
    opj_set_default_encoder_parameters(parameters);
    parameters->tcp_numlayers = 1;
    parameters->tcp_mct = 1;
    if (encoding->is_lossless || encoding->quality >= 100) {
        parameters->cp_disto_alloc = 1;
        parameters->tcp_rates[0] = 0;
    } else {
        // A peak signal-to-noise ratio from 25 to 50 dB, with wavelets that are not reversible.
        parameters->cp_fixed_quality = 1;
        parameters->tcp_distoratio[0] = (float)(25 + encoding->quality / 4);
        parameters->irreversible = 1;
    }
    uint32_t shorter = encoding->width < encoding->height ? encoding->width : encoding->height;
    while (parameters->numresolution > 1 && shorter < 1u << (parameters->numresolution - 1)) parameters->numresolution--;
}

static cwi_result add(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds) {
    jp2_encoder *jp2 = (jp2_encoder *)encoder;
    opj_cparameters_t parameters;
    set_up(&parameters, &encoder->encoding);
    opj_image_t *image = make_image(&encoder->encoding, pixels, stride);
    opj_codec_t *codec = opj_create_compress(OPJ_CODEC_JP2);
    opj_stream_t *stream = opj_stream_create(1 << 16, OPJ_FALSE);
    cwi_result result = image && codec && stream ? cwi_success() : cwi_failure(CWI_NO_MEMORY, NULL);
    if (result.status == CWI_OK) {
        opj_set_error_handler(codec, note_error, &jp2->memory);
        opj_set_warning_handler(codec, ignore_message, NULL);
        opj_set_info_handler(codec, ignore_message, NULL);
        opj_stream_set_write_function(stream, write_bytes);
        opj_stream_set_skip_function(stream, skip_output);
        opj_stream_set_seek_function(stream, seek_output);
        opj_stream_set_user_data(stream, &jp2->memory, NULL);
        bool is_written = opj_setup_encoder(codec, &parameters, image);
        if (encoder->encoding.thread_count > 1) opj_codec_set_threads(codec, encoder->encoding.thread_count);
        is_written = is_written && opj_start_compress(codec, image, stream) && opj_encode(codec, stream) &&
                     opj_end_compress(codec, stream);
        if (!is_written) result = cwi_failure(CWI_UNSUPPORTED, jp2->memory.message);
    }
    if (stream) opj_stream_destroy(stream);
    if (codec) opj_destroy_codec(codec);
    if (image) opj_image_destroy(image);
    return result;
}

/// Adds a `uuid` box at the end.
static bool add_box(cwi_buffer *output, const uint8_t identifier[16], const uint8_t *bytes, size_t length) {
    if (length == 0) return true;
    uint32_t total = (uint32_t)(length + 24);
    uint8_t head[24] = {
        (uint8_t)(total >> 24), (uint8_t)(total >> 16), (uint8_t)(total >> 8), (uint8_t)total, 'u', 'u', 'i', 'd'};
    memcpy(head + 8, identifier, 16);
    return cwi_buffer_write(output, output->length, head, sizeof head) &&
           cwi_buffer_write(output, output->length, bytes, length);
}

static cwi_result finish(cwi_encoder *encoder, uint8_t **bytes, size_t *length) {
    jp2_encoder *jp2 = (jp2_encoder *)encoder;
    const cwi_encoding *encoding = &encoder->encoding;
    if (!add_box(&jp2->memory.output, exif_identifier, encoding->exif, encoding->exif_length) ||
        !add_box(&jp2->memory.output, xmp_identifier, encoding->xmp, encoding->xmp_length))
        return cwi_failure(CWI_NO_MEMORY, NULL);
    *bytes = jp2->memory.output.bytes;
    *length = jp2->memory.output.length;
    jp2->memory.output = (cwi_buffer){0};
    return cwi_success();
}

static const cwi_writing writing = {.close = close_encoder, .add = add, .finish = finish};

cwi_result cwi_encode_jp2(const cwi_encoding *encoding, cwi_encoder **encoder) {
    jp2_encoder *jp2 = calloc(1, sizeof *jp2);
    if (!jp2) return cwi_failure(CWI_NO_MEMORY, NULL);
    jp2->encoder = (cwi_encoder){.writing = &writing, .encoding = *encoding};
    *encoder = &jp2->encoder;
    return cwi_success();
}

#endif
