#ifndef CWI_WITHOUT_HEIF

#include "file.h"
#include "heif_library.h"

#include <stdio.h>

// The prefix `cwi_` tells our names from the library's, whose own begin with `heif_`.
typedef struct {
    cwi_file file;
    struct heif_context *context;
    struct heif_image_handle *image;
    /// The image's, copied: libheif has no pointers to them.
    uint8_t *profile, *exif, *xmp;
} cwi_heif_file;

static cwi_result failure(struct heif_error error) {
    switch (error.code) {
    case heif_error_Ok: return cwi_success();
    case heif_error_Memory_allocation_error:
        return cwi_failure(
            error.subcode == heif_suberror_Security_limit_exceeded ? CWI_LIMIT : CWI_NO_MEMORY, error.message);
    case heif_error_Unsupported_filetype:
    case heif_error_Unsupported_feature:
        if (error.subcode == heif_suberror_Unsupported_codec)
            return cwi_failure(
                CWI_UNSUPPORTED,
                "a codec for which libheif has no plug-in (Debian: libheif-plugin-libde265, libheif-plugin-x265)");
        return cwi_failure(CWI_UNSUPPORTED, error.message);
    case heif_error_Plugin_loading_error: return cwi_failure(CWI_UNSUPPORTED, error.message);
    default:
        if (error.subcode == heif_suberror_End_of_data) return cwi_failure(CWI_TRUNCATED, error.message);
        return cwi_failure(CWI_CORRUPT, error.message);
    }
}

static void close_file(cwi_file *file) {
    cwi_heif_file *heif = (cwi_heif_file *)file;
    if (heif->image) heif_image_handle_release(heif->image);
    if (heif->context) heif_context_free(heif->context);
    free(heif->profile);
    free(heif->exif);
    free(heif->xmp);
    free(heif);
}

/// Copies rows. Channels of `depth` bits become channels of 16.
static void copy_row(const uint8_t *source, uint8_t *destination, size_t width, int depth) {
    if (depth <= 8) {
        memcpy(destination, source, width * 4);
        return;
    }
    uint32_t highest = (1u << depth) - 1;
    for (size_t index = 0; index < width * 4; index++) {
        uint16_t value;
        memcpy(&value, source + index * 2, 2);
        value = (uint16_t)(((value > highest ? highest : value) * 65535u + highest / 2) / highest);
        memcpy(destination + index * 2, &value, 2);
    }
}

static cwi_result decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial) {
    cwi_heif_file *heif = (cwi_heif_file *)file;
    bool is_deep = file->info.bytes_per_channel == 2;
    struct heif_decoding_options *options = heif_decoding_options_alloc();
    if (!options) return cwi_failure(CWI_NO_MEMORY, NULL);
    if (options->version >= 3) options->strict_decoding = is_partial == NULL;
    struct heif_image *image = NULL;
    struct heif_error error = heif_decode_image(
        heif->image, &image, heif_colorspace_RGB,
        is_deep ? heif_chroma_interleaved_RRGGBBAA_LE : heif_chroma_interleaved_RGBA, options);
    heif_decoding_options_free(options);
    if (error.code) return failure(error);
    cwi_result result = cwi_success();
    int source_stride = 0;
    const uint8_t *source = heif_image_get_plane_readonly(image, heif_channel_interleaved, &source_stride);
    int depth = heif_image_get_bits_per_pixel_range(image, heif_channel_interleaved);
    bool fits = source && heif_image_get_width(image, heif_channel_interleaved) == (int)file->info.width &&
                heif_image_get_height(image, heif_channel_interleaved) == (int)file->info.height &&
                (is_deep ? depth > 8 && depth <= 16 : depth == 8);
    if (!fits) result = cwi_failure(CWI_CORRUPT, "the decoded image has another size or depth than the file says");
    for (uint32_t row = 0; fits && row < file->info.height; row++)
        copy_row(
            source + (size_t)row * (size_t)source_stride, (uint8_t *)pixels + row * stride, file->info.width, depth);
    heif_image_release(image);
    return result;
}

static const cwi_reading reading = {.close = close_file, .decode = decode};

/// Replaces the image by its embedded thumbnail, if that has enough pixels and the same proportions.
static void use_thumbnail(cwi_heif_file *heif, cwi_choice choice) {
    if (choice.wanted_width == 0 || choice.wanted_height == 0) return;
    heif_item_id identifiers[8];
    int count = heif_image_handle_get_list_of_thumbnail_IDs(heif->image, identifiers, 8);
    double width = heif_image_handle_get_width(heif->image), height = heif_image_handle_get_height(heif->image);
    for (int index = 0; index < count; index++) {
        struct heif_image_handle *thumbnail = NULL;
        if (heif_image_handle_get_thumbnail(heif->image, identifiers[index], &thumbnail).code) continue;
        double small_width = heif_image_handle_get_width(thumbnail);
        double small_height = heif_image_handle_get_height(thumbnail);
        // Rounding to even sides may differ by one.
        double difference = small_width * height / width - small_height;
        bool is_enough = small_width >= choice.wanted_width && small_height >= choice.wanted_height;
        if (is_enough && difference > -1.5 && difference < 1.5) {
            heif_image_handle_release(heif->image);
            heif->image = thumbnail;
            return;
        }
        heif_image_handle_release(thumbnail);
    }
}

/// Copies a block of metadata; its length is 0 if there is none, or if it is too long.
static uint8_t *copy_metadata(const cwi_heif_file *heif, heif_item_id identifier, size_t *length) {
    *length = 0;
    size_t size = heif_image_handle_get_metadata_size(heif->image, identifier);
    uint8_t *bytes = size > 0 && size <= heif->file.limits.metadata_length ? malloc(size) : NULL;
    if (!bytes) return NULL;
    if (heif_image_handle_get_metadata(heif->image, identifier, bytes).code) {
        free(bytes);
        return NULL;
    }
    *length = size;
    return bytes;
}

static void read_metadata(cwi_heif_file *heif) {
    cwi_file_info *info = &heif->file.info;
    heif_item_id identifiers[16];
    int count = heif_image_handle_get_list_of_metadata_block_IDs(heif->image, NULL, identifiers, 16);
    for (int index = 0; index < count; index++) {
        const char *type = heif_image_handle_get_metadata_type(heif->image, identifiers[index]);
        const char *content = heif_image_handle_get_metadata_content_type(heif->image, identifiers[index]);
        if (!heif->exif && strcmp(type, "Exif") == 0)
            heif->exif = copy_metadata(heif, identifiers[index], &info->exif_length);
        if (!heif->xmp && strcmp(type, "mime") == 0 && strcmp(content, "application/rdf+xml") == 0)
            heif->xmp = copy_metadata(heif, identifiers[index], &info->xmp_length);
    }
    info->exif = heif->exif;
    info->xmp = heif->xmp;
}

static cwi_result read_info(cwi_heif_file *heif) {
    cwi_file_info *info = &heif->file.info;
    int width = heif_image_handle_get_width(heif->image), height = heif_image_handle_get_height(heif->image);
    if (width <= 0 || height <= 0) return cwi_failure(CWI_CORRUPT, "an empty image");
    info->width = info->crop_width = (uint32_t)width;
    info->height = info->crop_height = (uint32_t)height;
    info->has_alpha = heif_image_handle_has_alpha_channel(heif->image);
    int depth = heif_image_handle_get_luma_bits_per_pixel(heif->image);
    if (depth > 0) info->depth = depth;
    info->bytes_per_channel = info->depth > 8 ? 2 : 1;
    info->is_premultiplied = heif_image_handle_is_premultiplied_alpha(heif->image);
    info->primaries = info->transfer = 2;
    if (heif->file.choice.reads_metadata) read_metadata(heif);
    struct heif_color_profile_nclx *nclx = NULL;
    if (heif_image_handle_get_nclx_color_profile(heif->image, &nclx).code == heif_error_Ok && nclx) {
        info->primaries = (int)nclx->color_primaries;
        info->transfer = (int)nclx->transfer_characteristics;
        heif_nclx_color_profile_free(nclx);
    }
    size_t length = heif_image_handle_get_raw_color_profile_size(heif->image);
    if (length == 0 || length > heif->file.limits.metadata_length) return cwi_success();
    heif->profile = malloc(length);
    if (!heif->profile) return cwi_failure(CWI_NO_MEMORY, NULL);
    if (heif_image_handle_get_raw_color_profile(heif->image, heif->profile).code == heif_error_Ok) {
        info->profile = heif->profile;
        info->profile_length = length;
    }
    return cwi_success();
}

cwi_result cwi_open_heif(
    const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file) {
    cwi_heif_file *heif = cwi_make_file(sizeof *heif, &reading, bytes, length, limits, choice);
    if (!heif) return cwi_failure(CWI_NO_MEMORY, NULL);
    heif->context = heif_context_alloc();
    if (!heif->context) {
        close_file(&heif->file);
        return cwi_failure(CWI_NO_MEMORY, NULL);
    }
    // libheif's own limits on items, boxes and memory hold as well.
    heif_context_set_maximum_image_size_limit(heif->context, (int)limits.side);
    // Cells at a time. Each waits for its decoder's one thread, so that as many threads decode.
    heif_context_set_max_decoding_threads(heif->context, choice.thread_count > 1 ? choice.thread_count : 0);
    struct heif_error error = heif_context_read_from_memory_without_copy(heif->context, bytes, length, NULL);
    cwi_result result = failure(error);
    if (result.status == CWI_OK) result = failure(heif_context_get_primary_image_handle(heif->context, &heif->image));
    if (result.status == CWI_OK) {
        use_thumbnail(heif, choice);
        result = read_info(heif);
    }
    if (result.status != CWI_OK) {
        close_file(&heif->file);
        return result;
    }
    *file = &heif->file;
    return result;
}

// MARK: Writing

typedef struct {
    cwi_encoder encoder;
    struct heif_context *context;
    struct heif_encoder *library;
} cwi_heif_encoder;

static void close_encoder(cwi_encoder *encoder) {
    cwi_heif_encoder *heif = (cwi_heif_encoder *)encoder;
    if (heif->library) heif_encoder_release(heif->library);
    if (heif->context) heif_context_free(heif->context);
    free(heif);
}

static struct heif_error encode(cwi_heif_encoder *heif, struct heif_image *image) {
    const cwi_encoding *encoding = &heif->encoder.encoding;
    struct heif_encoding_options *options = heif_encoding_options_alloc();
    if (!options)
        return (struct heif_error){heif_error_Memory_allocation_error, heif_suberror_Unspecified, "no memory"};
    options->save_alpha_channel = encoding->has_alpha;
    struct heif_color_profile_nclx *nclx = heif_nclx_color_profile_alloc();
    if (nclx) {
        nclx->color_primaries = heif_color_primaries_ITU_R_BT_709_5;
        nclx->transfer_characteristics = heif_transfer_characteristic_IEC_61966_2_1;
        // RGB is kept exactly only without a conversion to YCbCr.
        nclx->matrix_coefficients =
            encoding->is_lossless ? heif_matrix_coefficients_RGB_GBR : heif_matrix_coefficients_ITU_R_BT_601_6;
        nclx->full_range_flag = 1;
        // Before 1.17 the image's own profile decides how it is converted.
        heif_image_set_nclx_color_profile(image, nclx);
        if (options->version >= 4) options->output_nclx_profile = nclx;
    }
    if (encoding->profile_length)
        heif_image_set_raw_color_profile(image, "prof", encoding->profile, encoding->profile_length);
    struct heif_image_handle *handle = NULL;
    struct heif_error error = heif_context_encode_image(heif->context, image, heif->library, options, &handle);
    if (!error.code && encoding->exif_length)
        error = heif_context_add_exif_metadata(heif->context, handle, encoding->exif, (int)encoding->exif_length);
    if (!error.code && encoding->xmp_length)
        error = heif_context_add_XMP_metadata(heif->context, handle, encoding->xmp, (int)encoding->xmp_length);
    if (handle) heif_image_handle_release(handle);
    if (nclx) heif_nclx_color_profile_free(nclx);
    heif_encoding_options_free(options);
    return error;
}

static cwi_result add(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds) {
    const cwi_encoding *encoding = &encoder->encoding;
    struct heif_image *image = NULL;
    enum heif_chroma chroma = encoding->has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB;
    struct heif_error error =
        heif_image_create((int)encoding->width, (int)encoding->height, heif_colorspace_RGB, chroma, &image);
    if (!error.code)
        error = heif_image_add_plane(
            image, heif_channel_interleaved, (int)encoding->width, (int)encoding->height, 8);
    if (!error.code) {
        int row_length = 0;
        uint8_t *plane = heif_image_get_plane(image, heif_channel_interleaved, &row_length);
        int channels = encoding->has_alpha ? 4 : 3;
        for (uint32_t y = 0; y < encoding->height; y++) {
            uint8_t *row = plane + (size_t)y * (size_t)row_length;
            for (uint32_t x = 0; x < encoding->width; x++)
                memcpy(row + (size_t)x * (size_t)channels, pixels + y * stride + (size_t)x * 4, (size_t)channels);
        }
        error = encode((cwi_heif_encoder *)encoder, image);
    }
    if (image) heif_image_release(image);
    return failure(error);
}

static struct heif_error append(struct heif_context *context, const void *data, size_t length, void *buffer) {
    cwi_buffer *output = buffer;
    bool is_written = cwi_buffer_write(output, output->length, data, length);
    return (struct heif_error){
        is_written ? heif_error_Ok : heif_error_Memory_allocation_error, heif_suberror_Unspecified, ""};
}

static cwi_result finish(cwi_encoder *encoder, uint8_t **bytes, size_t *length) {
    cwi_buffer output = {0};
    struct heif_writer writer = {.writer_api_version = 1, .write = append};
    struct heif_error error = heif_context_write(((cwi_heif_encoder *)encoder)->context, &writer, &output);
    if (error.code) {
        free(output.bytes);
        return failure(error);
    }
    *bytes = output.bytes;
    *length = output.length;
    return cwi_success();
}

static const cwi_writing writing = {.close = close_encoder, .add = add, .finish = finish};

cwi_result cwi_encode_heif(const cwi_encoding *encoding, cwi_encoder **encoder) {
    cwi_heif_encoder *heif = calloc(1, sizeof *heif);
    if (!heif) return cwi_failure(CWI_NO_MEMORY, NULL);
    heif->encoder = (cwi_encoder){.writing = &writing, .encoding = *encoding};
    heif->context = heif_context_alloc();
    if (!heif->context) {
        close_encoder(&heif->encoder);
        return cwi_failure(CWI_NO_MEMORY, NULL);
    }
    struct heif_error error =
        heif_context_get_encoder_for_format(heif->context, heif_compression_HEVC, &heif->library);
    if (error.code) {
        close_encoder(&heif->encoder);
        return cwi_failure(
            CWI_UNSUPPORTED, "libheif has no plug-in that writes HEVC (Debian: libheif-plugin-x265)");
    }
    heif_encoder_set_lossy_quality(heif->library, (int)encoding->quality);
    // An option of x265's plug-in; another has none.
    bool keeps_colors = encoding->is_lossless || encoding->has_full_chroma;
    if (keeps_colors) error = heif_encoder_set_parameter_string(heif->library, "chroma", "444");
    if (encoding->is_lossless && !error.code) error = heif_encoder_set_lossless(heif->library, 1);
    if (encoding->is_lossless && error.code) {
        close_encoder(&heif->encoder);
        return cwi_failure(
            CWI_UNSUPPORTED, "libheif has no plug-in that writes HEVC without loss; AVIF, JPEG XL, WebP and PNG can");
    }
    static const char *const presets[11] = {"placebo", "veryslow", "slower",    "slow",      "slow",     "medium",
                                            "fast",    "faster",   "veryfast", "superfast", "ultrafast"};
    heif_encoder_set_parameter_string(heif->library, "preset", presets[encoding->speed]);
    *encoder = &heif->encoder;
    return cwi_success();
}

#endif
