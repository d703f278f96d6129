#ifndef CWI_WITHOUT_JXL

#include "file.h"
#include "jxl_library.h"

typedef struct {
    cwi_file file;
    JxlDecoder *decoder;
    void *runner;
    uint8_t *profile, *exif, *xmp;
    /// Of each frame, in seconds.
    double *durations;
    /// The frame that the decoder comes to next; -1 before it has begun.
    int next_frame;
    /// The index of the extra channel with the black ink of CMYK, or -1; and its levels of 16 bits.
    int black_channel;
    uint16_t *black;
} jxl_file;

static void close_file(cwi_file *file) {
    jxl_file *jxl = (jxl_file *)file;
    if (jxl->decoder) JxlDecoderDestroy(jxl->decoder);
    if (jxl->runner) JxlThreadParallelRunnerDestroy(jxl->runner);
    free(jxl->profile);
    free(jxl->exif);
    free(jxl->xmp);
    free(jxl->durations);
    free(jxl->black);
    free(jxl);
}

static double duration(const cwi_file *file, int frame) {
    const double *durations = ((const jxl_file *)file)->durations;
    return durations ? durations[frame] : 0;
}

static bool is_keyframe(const cwi_file *file, int frame) { return frame == 0; }

static cwi_result no_more(void) {
    return cwi_failure(CWI_TRUNCATED, "the file ends before the image");
}

/// Starts at the beginning of the file.
static bool start(jxl_file *jxl, int events) {
    JxlDecoderRewind(jxl->decoder);
    if (JxlDecoderSubscribeEvents(jxl->decoder, events) != JXL_DEC_SUCCESS) return false;
    if (JxlDecoderSetInput(jxl->decoder, jxl->file.bytes, jxl->file.length) != JXL_DEC_SUCCESS) return false;
    if (!jxl->file.choice.is_prefix) JxlDecoderCloseInput(jxl->decoder);
    return true;
}

static JxlPixelFormat pixel_format(const cwi_file_info *info) {
    return (JxlPixelFormat){
        .num_channels = 4,
        .data_type = info->bytes_per_channel == 2 ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8,
        .endianness = JXL_NATIVE_ENDIAN,
    };
}

/// Divides the colors of 16 bits by alpha.
static void unpremultiply(uint16_t *pixels, size_t count) {
    for (size_t index = 0; index < count; index++, pixels += 4) {
        uint32_t alpha = pixels[3];
        for (int channel = 0; alpha > 0 && channel < 3; channel++) {
            uint32_t value = (uint32_t)(((uint64_t)pixels[channel] * 65535 + alpha / 2) / alpha);
            pixels[channel] = (uint16_t)(value > 65535 ? 65535 : value);
        }
    }
}

/// Gives the decoder memory for black.
static bool set_black_output(jxl_file *jxl) {
    if (!jxl->file.info.is_ink) return true;
    size_t length = (size_t)jxl->file.info.width * jxl->file.info.height * sizeof *jxl->black, size = 0;
    JxlPixelFormat format = {.num_channels = 1, .data_type = JXL_TYPE_UINT16, .endianness = JXL_NATIVE_ENDIAN};
    uint32_t index = (uint32_t)jxl->black_channel;
    if (!jxl->black) jxl->black = malloc(length);
    // Parts that are missing have no ink.
    if (jxl->black) memset(jxl->black, 0xFF, length);
    return jxl->black && JxlDecoderExtraChannelBufferSize(jxl->decoder, &format, &size, index) == JXL_DEC_SUCCESS &&
           size <= length &&
           JxlDecoderSetExtraChannelBuffer(jxl->decoder, &format, jxl->black, size, index) == JXL_DEC_SUCCESS;
}

/// Finishes pixels of 16 bits: without alpha multiplied in, or as CMYK, of which transparent parts are white paper. The file has
/// inks as we do: full light is no ink.
static void finish_pixels(const jxl_file *jxl, void *memory) {
    const cwi_file_info *info = &jxl->file.info;
    size_t count = (size_t)info->width * info->height;
    if (!info->is_ink) {
        if (info->bytes_per_channel == 2 && info->is_premultiplied) unpremultiply(memory, count);
        return;
    }
    uint16_t *pixel = memory;
    for (size_t index = 0; index < count; index++, pixel += 4) {
        uint32_t alpha = pixel[3];
        pixel[3] = jxl->black[index];
        for (int channel = 0; alpha < 65535 && channel < 4; channel++)
            pixel[channel] = (uint16_t)(65535 - (uint32_t)(65535 - pixel[channel]) * alpha / 65535);
    }
}

static cwi_result decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial) {
    jxl_file *jxl = (jxl_file *)file;
    const cwi_file_info *info = &file->info;
    size_t row_length = (size_t)info->width * 4 * (size_t)info->bytes_per_channel;
    if (stride != row_length) return cwi_failure(CWI_UNSUPPORTED, "gaps between rows");
    if (jxl->next_frame < 0 || frame < jxl->next_frame) {
        if (!start(jxl, JXL_DEC_FRAME | JXL_DEC_FULL_IMAGE)) return cwi_failure(CWI_NO_MEMORY, NULL);
        jxl->next_frame = 0;
    }
    if (frame > jxl->next_frame) JxlDecoderSkipFrames(jxl->decoder, (size_t)(frame - jxl->next_frame));
    // Until it is known that this one is complete.
    jxl->next_frame = -1;
    JxlPixelFormat format = pixel_format(info);
    bool has_output = false;
    for (;;) {
        switch (JxlDecoderProcessInput(jxl->decoder)) {
        case JXL_DEC_FRAME: break;
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER: {
            size_t size = 0;
            if (JxlDecoderImageOutBufferSize(jxl->decoder, &format, &size) != JXL_DEC_SUCCESS ||
                size > row_length * info->height ||
                JxlDecoderSetImageOutBuffer(jxl->decoder, &format, pixels, size) != JXL_DEC_SUCCESS ||
                !set_black_output(jxl))
                return cwi_failure(CWI_CORRUPT, "a frame of another size");
            has_output = true;
            break;
        }
        case JXL_DEC_FULL_IMAGE:
            jxl->next_frame = frame + 1;
            finish_pixels(jxl, pixels);
            return cwi_success();
        case JXL_DEC_NEED_MORE_INPUT:
        case JXL_DEC_SUCCESS:
        case JXL_DEC_ERROR:
            // The beginning of the file has a coarse version, and rows of the fine one.
            if (is_partial && has_output && JxlDecoderFlushImage(jxl->decoder) == JXL_DEC_SUCCESS) {
                *is_partial = true;
                finish_pixels(jxl, pixels);
                return cwi_success();
            }
            return has_output ? cwi_failure(CWI_CORRUPT, "the image data is damaged or ends early") : no_more();
        default: return cwi_failure(CWI_CORRUPT, "the image data is damaged");
        }
    }
}

static const cwi_reading reading = {
    .close = close_file,
    .decode = decode,
    .duration = duration,
    .is_keyframe = is_keyframe,
};

/// Sets code points of H.273 for the common encodings. JPEG XL uses the same numbers, but for Display P3.
static bool set_code_points(cwi_file_info *info, const JxlColorEncoding *encoding) {
    bool is_gray = encoding->color_space == JXL_COLOR_SPACE_GRAY;
    if (encoding->color_space != JXL_COLOR_SPACE_RGB && !is_gray) return false;
    if (encoding->white_point != JXL_WHITE_POINT_D65) return false;
    int primaries = 1;
    if (!is_gray) {
        switch (encoding->primaries) {
        case JXL_PRIMARIES_SRGB: primaries = 1; break;
        case JXL_PRIMARIES_2100: primaries = 9; break;
        case JXL_PRIMARIES_P3: primaries = 12; break;
        default: return false;
        }
    }
    switch (encoding->transfer_function) {
    case JXL_TRANSFER_FUNCTION_709:
    case JXL_TRANSFER_FUNCTION_LINEAR:
    case JXL_TRANSFER_FUNCTION_SRGB:
    case JXL_TRANSFER_FUNCTION_PQ:
    case JXL_TRANSFER_FUNCTION_HLG: info->transfer = (int)encoding->transfer_function; break;
    default: return false;
    }
    info->primaries = primaries;
    return true;
}

static void read_colors(jxl_file *jxl) {
    cwi_file_info *info = &jxl->file.info;
    info->primaries = info->transfer = 2;
    JxlColorEncoding encoding;
    size_t length = 0;
#if JXL_VERSION_AT_LEAST(0, 9)
    if (JxlDecoderGetColorAsEncodedProfile(jxl->decoder, JXL_COLOR_PROFILE_TARGET_DATA, &encoding) ==
            JXL_DEC_SUCCESS && set_code_points(info, &encoding))
        return;
    if (JxlDecoderGetICCProfileSize(jxl->decoder, JXL_COLOR_PROFILE_TARGET_DATA, &length) != JXL_DEC_SUCCESS) return;
#else
    JxlPixelFormat format = pixel_format(info);
    if (JxlDecoderGetColorAsEncodedProfile(jxl->decoder, &format, JXL_COLOR_PROFILE_TARGET_DATA, &encoding) ==
            JXL_DEC_SUCCESS && set_code_points(info, &encoding))
        return;
    if (JxlDecoderGetICCProfileSize(jxl->decoder, &format, JXL_COLOR_PROFILE_TARGET_DATA, &length) != JXL_DEC_SUCCESS)
        return;
#endif
    if (length == 0 || length > jxl->file.limits.metadata_length) return;
    uint8_t *profile = malloc(length);
    if (!profile) return;
#if JXL_VERSION_AT_LEAST(0, 9)
    bool is_read = JxlDecoderGetColorAsICCProfile(
                       jxl->decoder, JXL_COLOR_PROFILE_TARGET_DATA, profile, length) == JXL_DEC_SUCCESS;
#else
    bool is_read = JxlDecoderGetColorAsICCProfile(
                       jxl->decoder, &format, JXL_COLOR_PROFILE_TARGET_DATA, profile, length) == JXL_DEC_SUCCESS;
#endif
    if (!is_read) {
        free(profile);
        return;
    }
    jxl->profile = profile;
    info->profile = profile;
    info->profile_length = length;
    info->is_ink = jxl->black_channel >= 0 && length > 20 && memcmp(profile + 16, "CMYK", 4) == 0;
    if (info->is_ink) info->has_alpha = info->is_premultiplied = false;
}

static void find_black(jxl_file *jxl, const JxlBasicInfo *basics) {
    for (uint32_t index = 0; index < basics->num_extra_channels; index++) {
        JxlExtraChannelInfo channel;
        bool is_read = JxlDecoderGetExtraChannelInfo(jxl->decoder, index, &channel) == JXL_DEC_SUCCESS;
        if (is_read && channel.type == JXL_CHANNEL_BLACK) jxl->black_channel = (int)index;
    }
}

static cwi_result read_basics(jxl_file *jxl, JxlBasicInfo *basics) {
    if (JxlDecoderGetBasicInfo(jxl->decoder, basics) != JXL_DEC_SUCCESS) return cwi_failure(CWI_CORRUPT, "no size");
    cwi_file_info *info = &jxl->file.info;
    // Upright: libjxl turns images.
    info->width = info->crop_width = basics->xsize;
    info->height = info->crop_height = basics->ysize;
    info->depth = (int)basics->bits_per_sample;
    find_black(jxl, basics);
    info->bytes_per_channel = basics->bits_per_sample > 8 || jxl->black_channel >= 0 ? 2 : 1;
    info->has_alpha = basics->alpha_bits > 0;
    info->is_premultiplied = info->has_alpha && basics->alpha_premultiplied;
    info->is_gray = basics->num_color_channels == 1;
    info->is_animated = basics->have_animation;
    info->loop_count = basics->have_animation ? (int)basics->animation.num_loops : -1;
    return cwi_check_size(&jxl->file.limits, basics->xsize, basics->ysize);
}

static cwi_result add_frame(jxl_file *jxl, const JxlBasicInfo *basics, int *capacity) {
    cwi_file_info *info = &jxl->file.info;
    if ((uint32_t)info->frame_count >= jxl->file.limits.frame_count) return cwi_failure(CWI_LIMIT, "frames");
    if (info->frame_count == *capacity) {
        *capacity = *capacity ? *capacity * 2 : 16;
        double *grown = realloc(jxl->durations, (size_t)*capacity * sizeof *grown);
        if (!grown) return cwi_failure(CWI_NO_MEMORY, NULL);
        jxl->durations = grown;
    }
    JxlFrameHeader header;
    if (JxlDecoderGetFrameHeader(jxl->decoder, &header) != JXL_DEC_SUCCESS) return cwi_failure(CWI_CORRUPT, "a frame");
    double ticks_per_second = (double)basics->animation.tps_numerator / (double)basics->animation.tps_denominator;
    jxl->durations[info->frame_count++] = ticks_per_second > 0 ? header.duration / ticks_per_second : 0;
    return cwi_success();
}

/// Reads up to the first frame; of an animation, the headers of all frames.
static cwi_result read_info(jxl_file *jxl) {
    JxlBasicInfo basics = {0};
    cwi_file_info *info = &jxl->file.info;
    bool has_basics = false, has_colors = false;
    int capacity = 0;
    if (!start(jxl, JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FRAME))
        return cwi_failure(CWI_NO_MEMORY, NULL);
    for (;;) {
        cwi_result result = cwi_success();
        switch (JxlDecoderProcessInput(jxl->decoder)) {
        case JXL_DEC_BASIC_INFO:
            result = read_basics(jxl, &basics);
            has_basics = true;
            if (basics.have_animation) info->frame_count = 0;
            break;
        case JXL_DEC_COLOR_ENCODING:
            read_colors(jxl);
            has_colors = true;
            if (!basics.have_animation || jxl->file.choice.is_prefix) {
                if (basics.have_animation) info->frame_count = 1;
                return result;
            }
            break;
        case JXL_DEC_FRAME: result = add_frame(jxl, &basics, &capacity); break;
        case JXL_DEC_SUCCESS: return info->frame_count > 0 ? result : no_more();
        case JXL_DEC_NEED_MORE_INPUT:
        case JXL_DEC_ERROR:
            // The frames so far can be shown. Without colors, sRGB is assumed.
            if (has_basics && info->frame_count > 0 && (has_colors || jxl->file.choice.is_prefix)) return result;
            return has_basics && !jxl->file.choice.is_prefix ? cwi_failure(CWI_CORRUPT, "a damaged header")
                                                             : no_more();
        default: result = cwi_failure(CWI_CORRUPT, "a damaged header"); break;
        }
        if (result.status != CWI_OK) return result;
    }
}

/// Reads the box at which the decoder is; NULL if it is empty or too long.
static uint8_t *read_box(jxl_file *jxl, size_t *length) {
    cwi_buffer box = {0};
    for (;;) {
        uint8_t chunk[1 << 12];
        if (JxlDecoderSetBoxBuffer(jxl->decoder, chunk, sizeof chunk) != JXL_DEC_SUCCESS) break;
        JxlDecoderStatus status = JxlDecoderProcessInput(jxl->decoder);
        size_t count = sizeof chunk - JxlDecoderReleaseBoxBuffer(jxl->decoder);
        bool fits = box.length + count <= jxl->file.limits.metadata_length;
        if (!fits || !cwi_buffer_write(&box, box.length, chunk, count)) break;
        if (status == JXL_DEC_BOX_NEED_MORE_OUTPUT) continue;
        // At the next box, or at the end.
        if (status != JXL_DEC_BOX && status != JXL_DEC_SUCCESS) break;
        *length = box.length;
        return box.bytes;
    }
    free(box.bytes);
    return NULL;
}

/// Reads the boxes of metadata, which may be compressed, and behind the image.
static void read_metadata(jxl_file *jxl) {
    if (!start(jxl, JXL_DEC_BOX)) return;
    JxlDecoderSetDecompressBoxes(jxl->decoder, JXL_TRUE);
    JxlDecoderStatus status = JxlDecoderProcessInput(jxl->decoder);
    cwi_file_info *info = &jxl->file.info;
    while (status == JXL_DEC_BOX) {
        JxlBoxType type;
        if (JxlDecoderGetBoxType(jxl->decoder, type, JXL_TRUE) != JXL_DEC_SUCCESS) break;
        bool is_exif = !jxl->exif && memcmp(type, "Exif", 4) == 0, is_xmp = !jxl->xmp && memcmp(type, "xml ", 4) == 0;
        if (is_exif) jxl->exif = read_box(jxl, &info->exif_length);
        if (is_xmp) jxl->xmp = read_box(jxl, &info->xmp_length);
        if (is_exif || is_xmp) {
            // The next box was reached.
            if (is_exif ? !jxl->exif : !jxl->xmp) break;
            if (JxlDecoderGetBoxType(jxl->decoder, type, JXL_TRUE) != JXL_DEC_SUCCESS) break;
            continue;
        }
        status = JxlDecoderProcessInput(jxl->decoder);
    }
    info->exif = jxl->exif;
    info->xmp = jxl->xmp;
}

cwi_result cwi_open_jxl(
    const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file) {
    if (choice.page > 0) return cwi_no_page(1);
    jxl_file *jxl = cwi_make_file(sizeof *jxl, &reading, bytes, length, limits, choice);
    if (!jxl) return cwi_failure(CWI_NO_MEMORY, NULL);
    jxl->next_frame = jxl->black_channel = -1;
    jxl->decoder = JxlDecoderCreate(NULL);
    if (choice.thread_count > 1) jxl->runner = JxlThreadParallelRunnerCreate(NULL, (size_t)choice.thread_count);
    cwi_result result = jxl->decoder ? cwi_success() : cwi_failure(CWI_NO_MEMORY, NULL);
    if (result.status == CWI_OK && jxl->runner)
        JxlDecoderSetParallelRunner(jxl->decoder, JxlThreadParallelRunner, jxl->runner);
    if (result.status == CWI_OK) result = read_info(jxl);
    if (result.status == CWI_OK && choice.reads_metadata) read_metadata(jxl);
    if (result.status != CWI_OK) {
        close_file(&jxl->file);
        return result;
    }
    *file = &jxl->file;
    return result;
}

#endif
