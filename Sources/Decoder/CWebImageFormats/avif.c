#ifndef CWI_WITHOUT_AVIF

#include "avif_library.h"
#include "file.h"

#include <stdio.h>

#define HAS_AVIF_1 (AVIF_VERSION >= 1000000)

typedef struct {
    cwi_file file;
    avifDecoder *decoder;
} avif_file;

static cwi_result failure(avifResult result, const avifDiagnostics *diagnostics) {
    const char *detail = diagnostics && diagnostics->error[0] ? diagnostics->error : avifResultToString(result);
    switch (result) {
    case AVIF_RESULT_OUT_OF_MEMORY: return cwi_failure(CWI_NO_MEMORY, detail);
    case AVIF_RESULT_TRUNCATED_DATA: return cwi_failure(CWI_TRUNCATED, detail);
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
    case AVIF_RESULT_NOT_IMPLEMENTED: return cwi_failure(CWI_UNSUPPORTED, detail);
    case AVIF_RESULT_NO_CODEC_AVAILABLE: return cwi_failure(CWI_UNSUPPORTED, "an AV1 decoder that libavif was built without");
    default: return cwi_failure(CWI_CORRUPT, detail);
    }
}

static void close_file(cwi_file *file) {
    avifDecoderDestroy(((avif_file *)file)->decoder);
    free(file);
}

static double duration(const cwi_file *file, int frame) {
    avifImageTiming timing;
    const avifDecoder *decoder = ((const avif_file *)file)->decoder;
    return avifDecoderNthImageTiming(decoder, (uint32_t)frame, &timing) == AVIF_RESULT_OK ? timing.duration : 0;
}

static bool is_keyframe(const cwi_file *file, int frame) {
    return avifDecoderIsKeyframe(((const avif_file *)file)->decoder, (uint32_t)frame);
}

static cwi_result decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial) {
    avifDecoder *decoder = ((avif_file *)file)->decoder;
    avifResult result = avifDecoderNthImage(decoder, (uint32_t)frame);
    if (result != AVIF_RESULT_OK) return failure(result, &decoder->diag);
    const avifImage *image = decoder->image;
    if (image->width != file->info.width || image->height != file->info.height)
        return cwi_failure(CWI_UNSUPPORTED, "frames of different sizes");
    avifRGBImage rgb;
    avifRGBImageSetDefaults(&rgb, image);
    rgb.format = AVIF_RGB_FORMAT_RGBA;
    rgb.depth = file->info.bytes_per_channel == 2 ? 16 : 8;
    rgb.alphaPremultiplied = file->info.is_premultiplied;
    rgb.pixels = pixels;
    rgb.rowBytes = (uint32_t)stride;
#if HAS_AVIF_1
    rgb.maxThreads = file->choice.thread_count;
#endif
    result = avifImageYUVToRGB(image, &rgb);
    return result == AVIF_RESULT_OK ? cwi_success() : failure(result, NULL);
}

static const cwi_reading reading = {
    .close = close_file, .decode = decode, .duration = duration, .is_keyframe = is_keyframe};

/// As in EXIF. The image is rotated first (MIAF, ISO 23000-22, 7.3.6.7).
static int orientation(const avifImage *image) {
    static const int rotated[4] = {1, 8, 3, 6};
    static const int mirrored[2][4] = {{4, 5, 2, 7}, {2, 7, 4, 5}};
    int angle = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle & 3 : 0;
    if (!(image->transformFlags & AVIF_TRANSFORM_IMIR)) return rotated[angle];
#if HAS_AVIF_1
    int axis = image->imir.axis;
#else
    int axis = image->imir.mode;
#endif
    return mirrored[axis & 1][angle];
}

static void set_crop(cwi_file_info *info, avifImage *image) {
    if (!(image->transformFlags & AVIF_TRANSFORM_CLAP)) return;
    avifCropRect crop;
    avifDiagnostics diagnostics;
    // As in browsers, a clap that is not valid is ignored. 4:4:4 allows any position.
    if (!avifCropRectConvertCleanApertureBox(
            &crop, &image->clap, image->width, image->height, AVIF_PIXEL_FORMAT_YUV444, &diagnostics))
        return;
    info->crop_x = crop.x;
    info->crop_y = crop.y;
    info->crop_width = crop.width;
    info->crop_height = crop.height;
}

cwi_result cwi_open_avif(
    const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file) {
    avif_file *avif = cwi_make_file(sizeof *avif, &reading, bytes, length, limits, choice);
    if (!avif) return cwi_failure(CWI_NO_MEMORY, NULL);
    avif->decoder = avifDecoderCreate();
    avifDecoder *decoder = avif->decoder;
    if (!decoder) {
        free(avif);
        return cwi_failure(CWI_NO_MEMORY, NULL);
    }
    // Threads start with the first frame.
    decoder->maxThreads = 1;
    // The pixels were checked before; libavif takes no limit above its own.
    if (limits.pixel_count < decoder->imageSizeLimit) decoder->imageSizeLimit = limits.pixel_count;
    decoder->imageDimensionLimit = limits.side;
    decoder->imageCountLimit = limits.frame_count;
    // As in browsers. Exif has an orientation that does not count, and a thumbnail.
    decoder->strictFlags = AVIF_STRICT_ENABLED & ~(AVIF_STRICT_CLAP_VALID | AVIF_STRICT_PIXI_REQUIRED);
    avifResult result = avifDecoderSetSource(
        decoder, choice.is_sequence ? AVIF_DECODER_SOURCE_TRACKS : AVIF_DECODER_SOURCE_PRIMARY_ITEM);
    decoder->ignoreExif = !choice.reads_metadata;
    decoder->ignoreXMP = !choice.reads_metadata;
    if (result == AVIF_RESULT_OK) result = avifDecoderSetIOMemory(decoder, bytes, length);
    if (result == AVIF_RESULT_OK) result = avifDecoderParse(decoder);
    if (result != AVIF_RESULT_OK) {
        cwi_result error = failure(result, &decoder->diag);
        close_file(&avif->file);
        return error;
    }
    // Before 1.0 each cell has a decoder, with threads of its own.
    bool has_decoder_for_cell = choice.is_grid && (!HAS_AVIF_1 || avifVersion()[0] == '0');
    if (choice.thread_count > 1 && !has_decoder_for_cell) decoder->maxThreads = choice.thread_count;
    avifImage *image = decoder->image;
    cwi_file_info *info = &avif->file.info;
    info->width = info->crop_width = image->width;
    info->height = info->crop_height = image->height;
    info->depth = (int)image->depth;
    info->has_alpha = decoder->alphaPresent;
    info->is_gray = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
    info->primaries = image->colorPrimaries;
    info->transfer = image->transferCharacteristics;
    bool is_hdr = info->transfer == AVIF_TRANSFER_CHARACTERISTICS_SMPTE2084 ||
                  info->transfer == AVIF_TRANSFER_CHARACTERISTICS_HLG;
    info->bytes_per_channel = info->depth > 8 || is_hdr ? 2 : 1;
    info->is_premultiplied = info->bytes_per_channel == 1;
    info->profile = image->icc.data;
    info->profile_length = image->icc.size;
    info->exif = image->exif.data;
    info->exif_length = image->exif.size;
    info->xmp = image->xmp.data;
    info->xmp_length = image->xmp.size;
    info->frame_count = decoder->imageCount;
    info->is_animated = decoder->imageCount > 1;
    info->loop_count = -1;
    info->orientation = orientation(image);
    set_crop(info, image);
    *file = &avif->file;
    return cwi_success();
}

// MARK: Writing

typedef struct {
    cwi_encoder encoder;
    avifEncoder *library;
} avif_encoder;

static void close_encoder(cwi_encoder *encoder) {
    avifEncoderDestroy(((avif_encoder *)encoder)->library);
    free(encoder);
}

static avifResult set_metadata(avifImage *image, const cwi_encoding *encoding) {
#if HAS_AVIF_1
    avifResult result = AVIF_RESULT_OK;
    if (encoding->exif_length) result = avifImageSetMetadataExif(image, encoding->exif, encoding->exif_length);
    if (result == AVIF_RESULT_OK && encoding->xmp_length)
        result = avifImageSetMetadataXMP(image, encoding->xmp, encoding->xmp_length);
    if (result == AVIF_RESULT_OK && encoding->profile_length)
        result = avifImageSetProfileICC(image, encoding->profile, encoding->profile_length);
    // Setting Exif applies its orientation, which the pixels have already.
    image->transformFlags = AVIF_TRANSFORM_NONE;
    return result;
#else
    if (encoding->exif_length) avifImageSetMetadataExif(image, encoding->exif, encoding->exif_length);
    if (encoding->xmp_length) avifImageSetMetadataXMP(image, encoding->xmp, encoding->xmp_length);
    if (encoding->profile_length) avifImageSetProfileICC(image, encoding->profile, encoding->profile_length);
    return AVIF_RESULT_OK;
#endif
}

static cwi_result add(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds) {
    const cwi_encoding *encoding = &encoder->encoding;
    avifPixelFormat format = encoding->is_lossless || encoding->has_full_chroma ? AVIF_PIXEL_FORMAT_YUV444
                                                                               : AVIF_PIXEL_FORMAT_YUV420;
    avifImage *image = avifImageCreate(encoding->width, encoding->height, 8, format);
    if (!image) return cwi_failure(CWI_NO_MEMORY, NULL);
    // sRGB. RGB is kept exactly only without a conversion to YCbCr.
    image->colorPrimaries = AVIF_COLOR_PRIMARIES_BT709;
    image->transferCharacteristics = AVIF_TRANSFER_CHARACTERISTICS_SRGB;
    image->matrixCoefficients =
        encoding->is_lossless ? AVIF_MATRIX_COEFFICIENTS_IDENTITY : AVIF_MATRIX_COEFFICIENTS_BT601;
    image->yuvRange = AVIF_RANGE_FULL;
    if (encoding->profile_length) {
        image->colorPrimaries = AVIF_COLOR_PRIMARIES_UNSPECIFIED;
        image->transferCharacteristics = AVIF_TRANSFER_CHARACTERISTICS_UNSPECIFIED;
    }
    avifRGBImage rgb;
    avifRGBImageSetDefaults(&rgb, image);
    rgb.format = AVIF_RGB_FORMAT_RGBA;
    rgb.depth = 8;
    rgb.ignoreAlpha = !encoding->has_alpha;
    rgb.pixels = (uint8_t *)pixels;
    rgb.rowBytes = (uint32_t)stride;
    avifResult result = set_metadata(image, encoding);
    if (result == AVIF_RESULT_OK) result = avifImageRGBToYUV(image, &rgb);
    avifEncoder *library = ((avif_encoder *)encoder)->library;
    if (result == AVIF_RESULT_OK) {
        avifAddImageFlags flags = encoding->frame_count > 1 ? AVIF_ADD_IMAGE_FLAG_NONE : AVIF_ADD_IMAGE_FLAG_SINGLE;
        result = avifEncoderAddImage(library, image, (uint64_t)milliseconds, flags);
    }
    avifImageDestroy(image);
    return result == AVIF_RESULT_OK ? cwi_success() : failure(result, &library->diag);
}

static cwi_result finish(cwi_encoder *encoder, uint8_t **bytes, size_t *length) {
    avifEncoder *library = ((avif_encoder *)encoder)->library;
    avifRWData output = AVIF_DATA_EMPTY;
    avifResult result = avifEncoderFinish(library, &output);
    if (result != AVIF_RESULT_OK) {
        avifRWDataFree(&output);
        return failure(result, &library->diag);
    }
    // libavif has its own `free`.
    *bytes = malloc(output.size);
    if (*bytes) memcpy(*bytes, output.data, output.size);
    *length = output.size;
    avifRWDataFree(&output);
    return *bytes ? cwi_success() : cwi_failure(CWI_NO_MEMORY, NULL);
}

static const cwi_writing writing = {.close = close_encoder, .add = add, .finish = finish};

#if !HAS_AVIF_1
/// The quantizer for a quality from 0 to 100, as in libavif 1.0.
static int quantizer(double quality) { return (int)((100 - quality) * 63 / 100 + 0.5); }

/// A constant quality. With equal bounds libaom's default mode can end the process with a failed assertion.
static void set_quality(avifEncoder *library, double quality, double alpha_quality, bool is_lossless) {
    library->maxQuantizer = library->maxQuantizerAlpha = is_lossless ? 0 : 63;
    library->minQuantizer = library->minQuantizerAlpha = 0;
    const char *name = avifCodecName(AVIF_CODEC_CHOICE_AUTO, AVIF_CODEC_FLAG_CAN_ENCODE);
    if (is_lossless || !name || strcmp(name, "aom") != 0) return;
    char level[8];
    avifEncoderSetCodecSpecificOption(library, "end-usage", "q");
    snprintf(level, sizeof level, "%d", quantizer(quality));
    avifEncoderSetCodecSpecificOption(library, "c:cq-level", level);
    snprintf(level, sizeof level, "%d", quantizer(alpha_quality));
    avifEncoderSetCodecSpecificOption(library, "a:cq-level", level);
}
#endif

cwi_result cwi_encode_avif(const cwi_encoding *encoding, cwi_encoder **encoder) {
    avif_encoder *avif = calloc(1, sizeof *avif);
    if (!avif) return cwi_failure(CWI_NO_MEMORY, NULL);
    avif->encoder = (cwi_encoder){.writing = &writing, .encoding = *encoding};
    avif->library = avifEncoderCreate();
    if (!avif->library) {
        free(avif);
        return cwi_failure(CWI_NO_MEMORY, NULL);
    }
    avifEncoder *library = avif->library;
    library->maxThreads = encoding->thread_count;
    // For a sequence, 7 and more choose a mode of libaom that crashes (3.6, Debian 12).
    library->speed = encoding->frame_count > 1 && encoding->speed > 6 ? 6 : encoding->speed;
    library->timescale = 1000;
    double quality = encoding->is_lossless ? 100 : encoding->quality;
    double alpha_quality = encoding->is_lossless ? 100 : encoding->alpha_quality;
#if HAS_AVIF_1
    library->quality = (int)quality;
    library->qualityAlpha = (int)alpha_quality;
    library->repetitionCount = encoding->loop_count == 0 ? AVIF_REPETITION_COUNT_INFINITE : encoding->loop_count - 1;
#else
    set_quality(library, quality, alpha_quality, encoding->is_lossless);
#endif
    *encoder = &avif->encoder;
    return cwi_success();
}

#endif
