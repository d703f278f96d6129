#ifndef CWI_WITHOUT_TIFF

#include "file.h"

#include <stdarg.h>
#include <stdio.h>
#include <tiffio.h>

/// A file in memory, as libtiff reads and writes it.
typedef struct {
    /// Only read; NULL while writing.
    const uint8_t *bytes;
    cwi_buffer output;
    size_t length, position;
    int error_count;
    char message[CWI_MESSAGE_LENGTH];
} tiff_memory;

static tmsize_t read_bytes(thandle_t handle, void *destination, tmsize_t count) {
    tiff_memory *memory = handle;
    const uint8_t *bytes = memory->bytes ? memory->bytes : memory->output.bytes;
    size_t length = memory->bytes ? memory->length : memory->output.length;
    if (count <= 0 || memory->position >= length) return 0;
    size_t taken = (size_t)count < length - memory->position ? (size_t)count : length - memory->position;
    memcpy(destination, bytes + memory->position, taken);
    memory->position += taken;
    return (tmsize_t)taken;
}

static tmsize_t write_bytes(thandle_t handle, void *source, tmsize_t count) {
    tiff_memory *memory = handle;
    if (memory->bytes || count < 0) return 0;
    if (!cwi_buffer_write(&memory->output, memory->position, source, (size_t)count)) return 0;
    memory->position += (size_t)count;
    return count;
}

static toff_t size_of(thandle_t handle) {
    tiff_memory *memory = handle;
    return memory->bytes ? memory->length : memory->output.length;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    tiff_memory *memory = handle;
    uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? memory->position : size_of(handle);
    // libtiff passes negative offsets as large ones.
    memory->position = (size_t)(base + offset);
    return memory->position;
}

static int do_nothing(thandle_t handle) { return 0; }

/// Lets libtiff read in place. Without that, 4.5 refuses tiles that are not compressed.
static int map_bytes(thandle_t handle, void **base, toff_t *length) {
    tiff_memory *memory = handle;
    *base = (void *)memory->bytes;
    *length = memory->length;
    return memory->bytes != NULL;
}

static void unmap_bytes(thandle_t handle, void *base, toff_t length) {}

/// Keeps the first message. The library's own handlers would print them, and are shared by the whole process.
static int note_error(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
    tiff_memory *memory = data;
    if (memory->error_count++ == 0) vsnprintf(memory->message, sizeof memory->message, format, arguments);
    return 1;
}

static int ignore_warning(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
    return 1;
}

static TIFF *open_memory(tiff_memory *memory, const char *mode, size_t largest_block) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, note_error, memory);
    TIFFOpenOptionsSetWarningHandlerExtR(options, ignore_warning, NULL);
    if (largest_block) TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)largest_block);
    TIFF *tiff = TIFFClientOpenExt(
        "", mode, memory, read_bytes, write_bytes, seek, do_nothing, size_of, map_bytes, unmap_bytes, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

typedef struct {
    cwi_file file;
    TIFF *tiff;
    tiff_memory memory;
    uint16_t channel_count, photometric, alpha_kind;
} tiff_file;

static void close_file(cwi_file *file) {
    tiff_file *tiff = (tiff_file *)file;
    if (tiff->tiff) TIFFClose(tiff->tiff);
    free(tiff);
}

static cwi_result damaged(const tiff_file *tiff) {
    const char *message = tiff->memory.error_count ? tiff->memory.message : "the image data is damaged";
    return cwi_failure(CWI_CORRUPT, message);
}

// MARK: 16 bits

/// Converts `count` pixels of a row to straight RGBA.
static void convert_deep(const tiff_file *tiff, const uint16_t *source, uint16_t *pixels, size_t count) {
    size_t channels = tiff->channel_count, colors = tiff->file.info.is_gray ? 1 : 3;
    for (size_t index = 0; index < count; index++, source += channels, pixels += 4) {
        uint32_t alpha = tiff->file.info.has_alpha ? source[colors] : 65535;
        for (size_t channel = 0; channel < 3; channel++) {
            uint32_t value = source[colors == 1 ? 0 : channel];
            if (tiff->photometric == PHOTOMETRIC_MINISWHITE) value = 65535 - value;
            if (tiff->alpha_kind != EXTRASAMPLE_UNASSALPHA && alpha > 0 && alpha < 65535) {
                uint64_t straight = ((uint64_t)value * 65535 + alpha / 2) / alpha;
                value = straight > 65535 ? 65535 : (uint32_t)straight;
            }
            pixels[channel] = (uint16_t)value;
        }
        pixels[3] = (uint16_t)alpha;
    }
}

/// Reads strips or tiles, whose rows have `block_width` pixels. Returns whether all could be read.
static bool read_deep(
    tiff_file *tiff, void *buffer, tmsize_t buffer_length, uint32_t block_width, uint32_t block_height,
    uint8_t *pixels, size_t stride, bool stops) {
    const cwi_file_info *info = &tiff->file.info;
    bool is_tiled = TIFFIsTiled(tiff->tiff), is_whole = true;
    for (uint32_t top = 0; top < info->height; top += block_height) {
        for (uint32_t left = 0; left < info->width; left += block_width) {
            tmsize_t length =
                is_tiled ? TIFFReadEncodedTile(
                               tiff->tiff, TIFFComputeTile(tiff->tiff, left, top, 0, 0), buffer, buffer_length)
                         : TIFFReadEncodedStrip(
                               tiff->tiff, TIFFComputeStrip(tiff->tiff, top, 0), buffer, buffer_length);
            if (length < 0) {
                if (stops) return false;
                is_whole = false;
                continue;
            }
            uint32_t columns = info->width - left < block_width ? info->width - left : block_width;
            uint32_t rows = info->height - top < block_height ? info->height - top : block_height;
            size_t row_length = (size_t)block_width * tiff->channel_count * 2;
            for (uint32_t row = 0; row < rows && (size_t)(row + 1) * row_length <= (size_t)length; row++)
                convert_deep(
                    tiff, (const uint16_t *)((const uint8_t *)buffer + row * row_length),
                    (uint16_t *)(pixels + (size_t)(top + row) * stride + (size_t)left * 8), columns);
        }
    }
    return is_whole;
}

static bool decode_deep(tiff_file *tiff, uint8_t *pixels, size_t stride, bool stops) {
    uint32_t block_width = tiff->file.info.width, block_height = tiff->file.info.height;
    tmsize_t length;
    if (TIFFIsTiled(tiff->tiff)) {
        TIFFGetField(tiff->tiff, TIFFTAG_TILEWIDTH, &block_width);
        TIFFGetField(tiff->tiff, TIFFTAG_TILELENGTH, &block_height);
        length = TIFFTileSize(tiff->tiff);
    } else {
        TIFFGetFieldDefaulted(tiff->tiff, TIFFTAG_ROWSPERSTRIP, &block_height);
        length = TIFFStripSize(tiff->tiff);
    }
    if (length <= 0 || (size_t)length > tiff->file.limits.memory_length || block_width == 0 || block_height == 0)
        return false;
    void *buffer = malloc((size_t)length);
    if (!buffer) return false;
    bool is_whole = read_deep(tiff, buffer, length, block_width, block_height, pixels, stride, stops);
    free(buffer);
    return is_whole;
}

// MARK: Reading

static bool has_pixels(const uint8_t *pixels, size_t length) {
    for (size_t index = 0; index < length; index++)
        if (pixels[index]) return true;
    return false;
}

static cwi_result decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial) {
    tiff_file *tiff = (tiff_file *)file;
    const cwi_file_info *info = &file->info;
    if (stride != (size_t)info->width * 4 * (size_t)info->bytes_per_channel)
        return cwi_failure(CWI_UNSUPPORTED, "gaps between rows");
    size_t length = stride * info->height;
    memset(pixels, 0, length);
    tiff->memory.error_count = 0;
    // In the order of the file: only the caller can turn all of the eight orientations.
    bool is_whole = info->bytes_per_channel == 2
                        ? decode_deep(tiff, pixels, stride, !is_partial)
                        : TIFFReadRGBAImageOriented(
                              tiff->tiff, info->width, info->height, pixels, info->orientation, !is_partial);
    if (is_whole && tiff->memory.error_count == 0) return cwi_success();
    if (!is_partial || !has_pixels(pixels, length)) return damaged(tiff);
    *is_partial = true;
    return cwi_success();
}

static const cwi_reading reading = {.close = close_file, .decode = decode};

static cwi_result read_info(tiff_file *tiff) {
    cwi_file_info *info = &tiff->file.info;
    uint16_t depth = 1, orientation = 1, format = SAMPLEFORMAT_UINT, planes = 1, extra_count = 0, *extras = NULL;
    uint16_t photometric = 0, channels = 1;
    TIFFGetField(tiff->tiff, TIFFTAG_IMAGEWIDTH, &info->width);
    TIFFGetField(tiff->tiff, TIFFTAG_IMAGELENGTH, &info->height);
    TIFFGetFieldDefaulted(tiff->tiff, TIFFTAG_BITSPERSAMPLE, &depth);
    TIFFGetFieldDefaulted(tiff->tiff, TIFFTAG_SAMPLESPERPIXEL, &channels);
    TIFFGetFieldDefaulted(tiff->tiff, TIFFTAG_ORIENTATION, &orientation);
    TIFFGetFieldDefaulted(tiff->tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(tiff->tiff, TIFFTAG_PLANARCONFIG, &planes);
    TIFFGetFieldDefaulted(tiff->tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extras);
    TIFFGetField(tiff->tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    cwi_result result = cwi_check_size(&tiff->file.limits, info->width, info->height);
    if (result.status != CWI_OK) return result;
    info->crop_width = info->width;
    info->crop_height = info->height;
    info->depth = depth;
    info->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    info->is_gray = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
    info->is_premultiplied = true;
    uint16_t colors = info->is_gray ? 1 : photometric == PHOTOMETRIC_SEPARATED ? 4 : 3;
    info->has_alpha = extra_count > 0 && channels > colors && photometric != PHOTOMETRIC_PALETTE;
    tiff->channel_count = channels;
    tiff->photometric = photometric;
    tiff->alpha_kind = extra_count > 0 ? extras[0] : EXTRASAMPLE_UNSPECIFIED;
    bool has_deep_colors = info->is_gray || photometric == PHOTOMETRIC_RGB;
    if (depth == 16 && format == SAMPLEFORMAT_UINT && planes == PLANARCONFIG_CONTIG && has_deep_colors &&
        channels >= colors) {
        info->bytes_per_channel = 2;
        info->is_premultiplied = false;
    }
    uint32_t profile_length = 0;
    void *profile = NULL;
    if (TIFFGetField(tiff->tiff, TIFFTAG_ICCPROFILE, &profile_length, &profile)) {
        info->profile = profile;
        info->profile_length = profile_length;
    }
    char reason[1024] = "";
    if (info->bytes_per_channel == 1 && !TIFFRGBAImageOK(tiff->tiff, reason)) return cwi_failure(CWI_UNSUPPORTED, reason);
    return cwi_success();
}

cwi_result cwi_open_tiff(
    const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file) {
    tiff_file *tiff = cwi_make_file(sizeof *tiff, &reading, bytes, length, limits, choice);
    if (!tiff) return cwi_failure(CWI_NO_MEMORY, NULL);
    tiff->memory = (tiff_memory){.bytes = bytes, .length = length};
    // "O" reads the offsets of strips when needed.
    tiff->tiff = open_memory(&tiff->memory, "rO", limits.memory_length);
    if (!tiff->tiff) {
        cwi_result result = choice.is_prefix ? cwi_failure(CWI_TRUNCATED, NULL) : damaged(tiff);
        free(tiff);
        return result;
    }
    cwi_result result = cwi_success();
    int count = (int)TIFFNumberOfDirectories(tiff->tiff);
    tiff->file.info.page_count = count > 0 ? count : 1;
    if (choice.page >= tiff->file.info.page_count) {
        result = cwi_no_page(tiff->file.info.page_count);
    } else if (!TIFFSetDirectory(tiff->tiff, choice.page > 0 ? (tdir_t)choice.page : 0)) {
        result = damaged(tiff);
    } else {
        result = read_info(tiff);
    }
    if (result.status != CWI_OK) {
        close_file(&tiff->file);
        return result;
    }
    *file = &tiff->file;
    return result;
}

// MARK: Writing

typedef struct {
    cwi_encoder encoder;
    TIFF *tiff;
    tiff_memory memory;
} tiff_encoder;

static void close_encoder(cwi_encoder *encoder) {
    tiff_encoder *tiff = (tiff_encoder *)encoder;
    if (tiff->tiff) TIFFClose(tiff->tiff);
    free(tiff->memory.output.bytes);
    free(tiff);
}

static cwi_result add(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds) {
    tiff_encoder *tiff = (tiff_encoder *)encoder;
    const cwi_encoding *encoding = &encoder->encoding;
    uint16_t channels = encoding->has_alpha ? 4 : 3;
    uint8_t *row = malloc((size_t)encoding->width * channels);
    if (!row) return cwi_failure(CWI_NO_MEMORY, NULL);
    bool is_written = true;
    for (uint32_t y = 0; is_written && y < encoding->height; y++) {
        for (uint32_t x = 0; x < encoding->width; x++)
            memcpy(row + (size_t)x * channels, pixels + y * stride + (size_t)x * 4, channels);
        is_written = TIFFWriteScanline(tiff->tiff, row, y, 0) >= 0;
    }
    free(row);
    return is_written ? cwi_success() : cwi_failure(CWI_UNSUPPORTED, tiff->memory.message);
}

static cwi_result finish(cwi_encoder *encoder, uint8_t **bytes, size_t *length) {
    tiff_encoder *tiff = (tiff_encoder *)encoder;
    if (!TIFFFlush(tiff->tiff)) return cwi_failure(CWI_UNSUPPORTED, tiff->memory.message);
    // Closing writes the directory again, if it has changed since.
    TIFFClose(tiff->tiff);
    tiff->tiff = NULL;
    *bytes = tiff->memory.output.bytes;
    *length = tiff->memory.output.length;
    tiff->memory.output = (cwi_buffer){0};
    return tiff->memory.error_count ? cwi_failure(CWI_NO_MEMORY, tiff->memory.message) : cwi_success();
}

static const cwi_writing writing = {.close = close_encoder, .add = add, .finish = finish};

cwi_result cwi_encode_tiff(const cwi_encoding *encoding, cwi_encoder **encoder) {
    tiff_encoder *tiff = calloc(1, sizeof *tiff);
    if (!tiff) return cwi_failure(CWI_NO_MEMORY, NULL);
    tiff->encoder = (cwi_encoder){.writing = &writing, .encoding = *encoding};
    tiff->tiff = open_memory(&tiff->memory, "wm", 0);
    if (!tiff->tiff) {
        free(tiff);
        return cwi_failure(CWI_NO_MEMORY, NULL);
    }
    TIFF *library = tiff->tiff;
    TIFFSetField(library, TIFFTAG_IMAGEWIDTH, encoding->width);
    TIFFSetField(library, TIFFTAG_IMAGELENGTH, encoding->height);
    TIFFSetField(library, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(library, TIFFTAG_SAMPLESPERPIXEL, encoding->has_alpha ? 4 : 3);
    TIFFSetField(library, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
    TIFFSetField(library, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(library, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
    if (encoding->has_alpha) TIFFSetField(library, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    // All programs read deflate; the predictor shortens photos by a third.
    TIFFSetField(library, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(library, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
    TIFFSetField(library, TIFFTAG_ZIPQUALITY, encoding->speed > 8 ? 1 : encoding->speed < 1 ? 9 : 9 - encoding->speed);
    TIFFSetField(library, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(library, 0));
    *encoder = &tiff->encoder;
    return cwi_success();
}

#endif
