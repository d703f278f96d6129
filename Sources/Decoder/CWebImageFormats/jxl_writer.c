#ifndef CWI_WITHOUT_JXL

#include "file.h"
#include "jxl_library.h"

typedef struct {
    cwi_encoder encoder;
    JxlEncoder *library;
    JxlEncoderFrameSettings *settings;
    void *runner;
    cwi_buffer output;
    int added_count;
} jxl_encoder;

static void close_encoder(cwi_encoder *encoder) {
    jxl_encoder *jxl = (jxl_encoder *)encoder;
    if (jxl->library) JxlEncoderDestroy(jxl->library);
    if (jxl->runner) JxlThreadParallelRunnerDestroy(jxl->runner);
    free(jxl->output.bytes);
    free(jxl);
}

static cwi_result broken(void) { return cwi_failure(CWI_UNSUPPORTED, "libjxl refused the image"); }

/// Moves what is ready to the output.
static cwi_result drain(jxl_encoder *jxl) {
    for (;;) {
        uint8_t chunk[1 << 16];
        uint8_t *next = chunk;
        size_t room = sizeof chunk;
        JxlEncoderStatus status = JxlEncoderProcessOutput(jxl->library, &next, &room);
        if (!cwi_buffer_write(&jxl->output, jxl->output.length, chunk, sizeof chunk - room))
            return cwi_failure(CWI_NO_MEMORY, NULL);
        if (status == JXL_ENC_SUCCESS) return cwi_success();
        if (status != JXL_ENC_NEED_MORE_OUTPUT) return broken();
    }
}

/// The distance for a quality from 0 to 100, as in libjxl's cjxl.
static float distance(double quality) {
    if (quality >= 100) return 0;
    if (quality >= 30) return (float)(0.1 + (100 - quality) * 0.09);
    return (float)(53.0 / 3000 * quality * quality - 23.0 / 20 * quality + 25);
}

static cwi_result add(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds) {
    jxl_encoder *jxl = (jxl_encoder *)encoder;
    const cwi_encoding *encoding = &encoder->encoding;
    uint32_t channels = encoding->has_alpha ? 4 : 3;
    size_t row_length = (size_t)encoding->width * channels, length = row_length * encoding->height;
    uint8_t *rows = malloc(length);
    if (!rows) return cwi_failure(CWI_NO_MEMORY, NULL);
    for (uint32_t y = 0; y < encoding->height; y++) {
        for (uint32_t x = 0; x < encoding->width; x++)
            memcpy(rows + y * row_length + x * channels, pixels + y * stride + (size_t)x * 4, channels);
    }
    if (encoding->frame_count > 1) {
        JxlFrameHeader header;
        JxlEncoderInitFrameHeader(&header);
        header.duration = (uint32_t)milliseconds;
        JxlEncoderSetFrameHeader(jxl->settings, &header);
    }
    JxlPixelFormat format = {.num_channels = channels, .data_type = JXL_TYPE_UINT8, .endianness = JXL_NATIVE_ENDIAN};
    JxlEncoderStatus status = JxlEncoderAddImageFrame(jxl->settings, &format, rows, length);
    free(rows);
    if (status != JXL_ENC_SUCCESS) return broken();
    jxl->added_count++;
    if (jxl->added_count == encoding->frame_count) {
        JxlEncoderCloseInput(jxl->library);
    }
    return drain(jxl);
}

static cwi_result finish(cwi_encoder *encoder, uint8_t **bytes, size_t *length) {
    jxl_encoder *jxl = (jxl_encoder *)encoder;
    *bytes = jxl->output.bytes;
    *length = jxl->output.length;
    jxl->output = (cwi_buffer){0};
    return cwi_success();
}

static const cwi_writing writing = {.close = close_encoder, .add = add, .finish = finish};

/// Adds a box. Exif has the offset of its first byte before it.
static bool add_box(JxlEncoder *library, const char type[4], const uint8_t *bytes, size_t length, size_t gap) {
    if (length == 0) return true;
    uint8_t *content = calloc(1, length + gap);
    if (!content) return false;
    memcpy(content + gap, bytes, length);
    bool is_added = JxlEncoderAddBox(library, type, content, length + gap, JXL_FALSE) == JXL_ENC_SUCCESS;
    free(content);
    return is_added;
}

static cwi_result set_up(jxl_encoder *jxl) {
    const cwi_encoding *encoding = &jxl->encoder.encoding;
    JxlEncoder *library = jxl->library;
    bool is_lossless = encoding->is_lossless || encoding->quality >= 100;
    if (jxl->runner) JxlEncoderSetParallelRunner(library, JxlThreadParallelRunner, jxl->runner);
    bool has_boxes = encoding->exif_length || encoding->xmp_length;
    if (has_boxes && JxlEncoderUseBoxes(library) != JXL_ENC_SUCCESS) return broken();
    JxlBasicInfo basics;
    JxlEncoderInitBasicInfo(&basics);
    basics.xsize = encoding->width;
    basics.ysize = encoding->height;
    basics.bits_per_sample = 8;
    basics.num_color_channels = 3;
    if (encoding->has_alpha) {
        basics.num_extra_channels = 1;
        basics.alpha_bits = 8;
    }
    basics.uses_original_profile = is_lossless;
    if (encoding->frame_count > 1) {
        basics.have_animation = JXL_TRUE;
        basics.animation.tps_numerator = 1000;
        basics.animation.tps_denominator = 1;
        basics.animation.num_loops = (uint32_t)encoding->loop_count;
    }
    if (JxlEncoderSetBasicInfo(library, &basics) != JXL_ENC_SUCCESS) return broken();
    JxlColorEncoding colors;
    JxlColorEncodingSetToSRGB(&colors, JXL_FALSE);
    JxlEncoderStatus is_colored = encoding->profile_length
                                      ? JxlEncoderSetICCProfile(library, encoding->profile, encoding->profile_length)
                                      : JxlEncoderSetColorEncoding(library, &colors);
    if (is_colored != JXL_ENC_SUCCESS) return broken();
    jxl->settings = JxlEncoderFrameSettingsCreate(library, NULL);
    if (!jxl->settings) return cwi_failure(CWI_NO_MEMORY, NULL);
    JxlEncoderStatus status = is_lossless ? JxlEncoderSetFrameLossless(jxl->settings, JXL_TRUE)
                                          : JxlEncoderSetFrameDistance(jxl->settings, distance(encoding->quality));
    if (status != JXL_ENC_SUCCESS) return broken();
#if JXL_VERSION_AT_LEAST(0, 9)
    if (encoding->has_alpha && !is_lossless)
        JxlEncoderSetExtraChannelDistance(jxl->settings, 0, distance(encoding->alpha_quality));
#endif
    // libjxl's efforts are 1, the fastest, to 9. Without loss, those below 7 make drawings longer than a PNG.
    static const int lossy_efforts[11] = {9, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1};
    static const int lossless_efforts[11] = {9, 9, 8, 8, 7, 7, 7, 7, 5, 3, 1};
    const int *efforts = is_lossless ? lossless_efforts : lossy_efforts;
    JxlEncoderFrameSettingsSetOption(jxl->settings, JXL_ENC_FRAME_SETTING_EFFORT, efforts[encoding->speed]);
    bool has_metadata = add_box(library, "Exif", encoding->exif, encoding->exif_length, 4) &&
                        add_box(library, "xml ", encoding->xmp, encoding->xmp_length, 0);
    if (!has_metadata) return broken();
    if (has_boxes) JxlEncoderCloseBoxes(library);
    return cwi_success();
}

cwi_result cwi_encode_jxl(const cwi_encoding *encoding, cwi_encoder **encoder) {
    jxl_encoder *jxl = calloc(1, sizeof *jxl);
    if (!jxl) return cwi_failure(CWI_NO_MEMORY, NULL);
    jxl->encoder = (cwi_encoder){.writing = &writing, .encoding = *encoding};
    jxl->library = JxlEncoderCreate(NULL);
    if (encoding->thread_count > 1) jxl->runner = JxlThreadParallelRunnerCreate(NULL, (size_t)encoding->thread_count);
    cwi_result result = jxl->library ? set_up(jxl) : cwi_failure(CWI_NO_MEMORY, NULL);
    if (result.status != CWI_OK) {
        close_encoder(&jxl->encoder);
        return result;
    }
    *encoder = &jxl->encoder;
    return result;
}

#endif
