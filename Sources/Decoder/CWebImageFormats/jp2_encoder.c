#ifndef CWI_WITHOUT_JP2

#include "jp2.h"

typedef struct {
    cwi_encoder encoder;
    cwi_jp2_message message;
    cwi_buffer output;
    size_t position;
} jp2_encoder;

static OPJ_SIZE_T write_bytes(void *source, OPJ_SIZE_T count, void *data) {
    jp2_encoder *encoder = data;
    if (!cwi_buffer_write(&encoder->output, encoder->position, source, count)) return (OPJ_SIZE_T)-1;
    encoder->position += count;
    return count;
}

static OPJ_OFF_T skip_output(OPJ_OFF_T count, void *data) {
    ((jp2_encoder *)data)->position += (size_t)count;
    return count;
}

static OPJ_BOOL seek_output(OPJ_OFF_T offset, void *data) {
    ((jp2_encoder *)data)->position = (size_t)offset;
    return OPJ_TRUE;
}

static void close_encoder(cwi_encoder *encoder) {
    free(((jp2_encoder *)encoder)->output.bytes);
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
        opj_set_error_handler(codec, cwi_jp2_note_error, &jp2->message);
        opj_set_warning_handler(codec, cwi_jp2_ignore_message, NULL);
        opj_set_info_handler(codec, cwi_jp2_ignore_message, NULL);
        opj_stream_set_write_function(stream, write_bytes);
        opj_stream_set_skip_function(stream, skip_output);
        opj_stream_set_seek_function(stream, seek_output);
        opj_stream_set_user_data(stream, jp2, NULL);
        bool is_written = opj_setup_encoder(codec, &parameters, image);
        if (encoder->encoding.thread_count > 1) opj_codec_set_threads(codec, encoder->encoding.thread_count);
        is_written = is_written && opj_start_compress(codec, image, stream) && opj_encode(codec, stream) &&
                     opj_end_compress(codec, stream);
        if (!is_written) result = cwi_failure(CWI_UNSUPPORTED, jp2->message.text);
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
    if (!add_box(&jp2->output, cwi_jp2_exif_identifier, encoding->exif, encoding->exif_length) ||
        !add_box(&jp2->output, cwi_jp2_xmp_identifier, encoding->xmp, encoding->xmp_length))
        return cwi_failure(CWI_NO_MEMORY, NULL);
    *bytes = jp2->output.bytes;
    *length = jp2->output.length;
    jp2->output = (cwi_buffer){0};
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
