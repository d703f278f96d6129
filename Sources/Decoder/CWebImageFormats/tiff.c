#ifndef CWI_WITHOUT_TIFF

#include "tiff.h"

#include <stdarg.h>
#include <stdio.h>

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

/// Counts errors. The library's own handlers would print them, and are shared by the whole process; its texts are about its own
/// functions.
static int count_error(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
    ((tiff_memory *)data)->error_count++;
    return 1;
}

static int ignore_warning(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
    return 1;
}

TIFF *cwi_tiff_open(tiff_memory *memory, const char *mode, size_t largest_block) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, count_error, memory);
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
    tiff_page page;
    /// Whether libtiff converts to RGBA, as it does with the usual kinds of 8 bits.
    bool is_usual;
} tiff_file;

static void close_file(cwi_file *file) {
    tiff_file *tiff = (tiff_file *)file;
    if (tiff->tiff) TIFFClose(tiff->tiff);
    free(tiff);
}

static const char *compression_name(int compression) {
    switch (compression) {
    case COMPRESSION_NONE: return "uncompressed";
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTRLEW:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4: return "fax";
    case COMPRESSION_LZW: return "LZW";
    case COMPRESSION_OJPEG:
    case COMPRESSION_JPEG: return "JPEG";
    case COMPRESSION_PACKBITS: return "PackBits";
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE: return "deflate";
    case COMPRESSION_JBIG: return "JBIG";
    case 34712: return "JPEG 2000";
    case 34887: return "LERC";
    case 34925: return "LZMA";
    case 50000: return "Zstandard";
    case 50001: return "WebP";
    case 50002: return "JPEG XL";
    default: return "unknown";
    }
}

/// - count: the blocks that cannot be read, of which `first` is one; 0 if that is not known.
static cwi_result damaged(const tiff_file *tiff, uint64_t count, uint64_t first) {
    const tiff_page *page = &tiff->page;
    char text[CWI_MESSAGE_LENGTH];
    const char *kind = page->is_tiled ? "tile" : "strip", *name = compression_name(page->compression);
    if (count > 0) {
        snprintf(
            text, sizeof text, "%s %llu of %llu cannot be read (%s)", kind, (unsigned long long)first + 1,
            (unsigned long long)page->block_count, name);
    } else {
        snprintf(text, sizeof text, "a %s cannot be read (%s)", kind, name);
    }
    return cwi_failure(CWI_CORRUPT, text);
}

// MARK: Reading

static bool has_pixels(const uint8_t *pixels, size_t length) {
    for (size_t index = 0; index < length; index++)
        if (pixels[index]) return true;
    return false;
}

/// The rows of blocks in which a part is, as far as the part needs them: libtiff reads the rows of a strip from its start, and the rows of
/// subsampled chroma together.
static uint32_t first_row(const tiff_page *page, uint32_t row) {
    uint32_t in_block = row % page->block_height;
    return row - (page->is_tiled ? in_block : in_block % 4);
}

static uint32_t end_of_block(const tiff_page *page, uint32_t row) {
    uint32_t rest = page->block_height - row % page->block_height;
    return rest < page->height - row ? row + rest : page->height;
}

/// Converts a part with libtiff, a row of blocks at a time: of strips all columns, of tiles those of the part.
static bool read_usual(tiff_file *tiff, cwi_part part, uint32_t *pixels, bool stops) {
    const tiff_page *page = &tiff->page;
    char reason[1024] = "";
    TIFFRGBAImage image;
    if (!TIFFRGBAImageBegin(&image, tiff->tiff, stops, reason)) return false;
    // In the order of the file: only the caller can turn all of the eight orientations.
    image.req_orientation = (uint16_t)tiff->file.info.orientation;
    uint32_t left = page->is_tiled ? part.x - part.x % page->block_width : 0, right = page->width;
    uint32_t end = part.y + part.height, last = part.x + part.width - 1;
    if (page->is_tiled && page->width - last > page->block_width - last % page->block_width)
        right = last + page->block_width - last % page->block_width;
    bool is_whole = part.width == page->width && part.height == page->height;
    // The most rows at once; of the whole image, libtiff takes one block after the other itself.
    uint32_t first = is_whole ? 0 : first_row(page, part.y), most = page->is_tiled ? page->block_height : end - first;
    if (most > page->block_height) most = page->block_height;
    uint32_t *rows = is_whole ? pixels : malloc((size_t)(right - left) * most * sizeof *rows);
    bool is_read = rows != NULL;
    image.col_offset = (int)left;
    for (uint32_t row = first; rows && row < end && (is_read || !stops);) {
        uint32_t next = is_whole ? page->height : end_of_block(page, row);
        uint32_t count = page->is_tiled || next < end ? next - row : end - row;
        image.row_offset = (int)row;
        if (!is_whole) memset(rows, 0, (size_t)(right - left) * count * sizeof *rows);
        is_read = TIFFRGBAImageGet(&image, rows, right - left, count) && is_read;
        for (uint32_t line = row > part.y ? row : part.y; !is_whole && line < row + count && line < end; line++) {
            const uint32_t *source = rows + (size_t)(line - row) * (right - left) + (part.x - left);
            memcpy(pixels + (size_t)(line - part.y) * part.width, source, (size_t)part.width * sizeof *rows);
        }
        row = next;
    }
    if (!is_whole) free(rows);
    TIFFRGBAImageEnd(&image);
    return is_read;
}

static cwi_result decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial) {
    tiff_file *tiff = (tiff_file *)file;
    const cwi_file_info *info = &file->info;
    cwi_part part = file->part;
    if (part.width == 0) part = (cwi_part){.width = info->width, .height = info->height};
    if (stride != (size_t)part.width * 4 * (size_t)info->bytes_per_channel)
        return cwi_failure(CWI_UNSUPPORTED, "gaps between rows");
    size_t length = stride * part.height;
    memset(pixels, 0, length);
    tiff->memory.error_count = 0;
    uint64_t count = 0, first = 0;
    if (tiff->is_usual) {
        bool is_whole = read_usual(tiff, part, pixels, !is_partial);
        if (is_whole && tiff->memory.error_count == 0) return cwi_success();
    } else {
        count = cwi_tiff_read_samples(
            tiff->tiff, &tiff->memory, &tiff->page, part, info->is_ink, pixels, !is_partial, &first);
        if (count == 0) return cwi_success();
    }
    if (!is_partial || !has_pixels(pixels, length)) return damaged(tiff, count, first);
    *is_partial = true;
    return cwi_success();
}

static const cwi_reading reading = {.close = close_file, .decode = decode};

/// Whether the color profile is one of CMYK.
static bool has_ink_profile(const cwi_file_info *info) {
    return info->profile_length > 20 && memcmp(info->profile + 16, "CMYK", 4) == 0;
}

static bool is_usual(const tiff_page *page, bool has_ink_profile) {
    bool has_bytes = page->depth == 8, has_colors = page->channel_count >= cwi_tiff_color_count(page);
    if (page->photometric == PHOTOMETRIC_LOGL || page->photometric == PHOTOMETRIC_LOGLUV) return true;
    if ((page->format != SAMPLEFORMAT_UINT && page->format != SAMPLEFORMAT_VOID) || !has_colors) return false;
    // libtiff drops the alpha beside the indices of a palette.
    if (page->photometric == PHOTOMETRIC_PALETTE && cwi_tiff_has_alpha(page)) return false;
    switch (page->photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_PALETTE:
        return (has_bytes && !page->is_planar) ||
               (page->channel_count == 1 && (page->depth == 1 || page->depth == 2 || page->depth == 4));
    case PHOTOMETRIC_RGB: return has_bytes;
    case PHOTOMETRIC_SEPARATED:
        return has_bytes && !page->is_planar && page->ink_set == INKSET_CMYK && !has_ink_profile;
    case PHOTOMETRIC_YCBCR: return has_bytes && !page->is_planar;
    default: return false;
    }
}

/// Tells in our words what libtiff does not convert.
static cwi_result check_usual(tiff_file *tiff) {
    const tiff_page *page = &tiff->page;
    char reason[1024] = "", text[CWI_MESSAGE_LENGTH];
    if (TIFFRGBAImageOK(tiff->tiff, reason)) return cwi_success();
    snprintf(
        text, sizeof text, "photometric interpretation %d with %d channels of %d bits, compression %d (%s)",
        page->photometric, page->channel_count, page->depth, page->compression, compression_name(page->compression));
    return cwi_failure(CWI_UNSUPPORTED, text);
}

static cwi_result read_info(tiff_file *tiff) {
    cwi_file_info *info = &tiff->file.info;
    const tiff_page *page = &tiff->page;
    uint16_t orientation = 1;
    uint32_t profile_length = 0;
    void *profile = NULL;
    char text[CWI_MESSAGE_LENGTH];
    TIFFGetFieldDefaulted(tiff->tiff, TIFFTAG_ORIENTATION, &orientation);
    info->width = info->crop_width = page->width;
    info->height = info->crop_height = page->height;
    info->block_width = page->block_width;
    info->block_height = page->block_height;
    info->block_length = page->block_length;
    info->depth = page->depth;
    info->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    info->is_gray = page->photometric == PHOTOMETRIC_MINISBLACK || page->photometric == PHOTOMETRIC_MINISWHITE;
    info->has_alpha = cwi_tiff_has_alpha(page);
    // A profile of CIELab's has no meaning for the RGB that it is converted to.
    if (!cwi_tiff_is_lab(page) && TIFFGetField(tiff->tiff, TIFFTAG_ICCPROFILE, &profile_length, &profile)) {
        info->profile = profile;
        info->profile_length = profile_length;
    }
    snprintf(text, sizeof text, "compression %d (%s)", page->compression, compression_name(page->compression));
    if (!TIFFIsCODECConfigured(page->compression)) return cwi_failure(CWI_UNSUPPORTED, text);
    bool is_ink = page->photometric == PHOTOMETRIC_SEPARATED && has_ink_profile(info);
    tiff->page.is_lossless_jpeg = cwi_tiff_is_lossless_jpeg(tiff->tiff, page, &tiff->memory);
    tiff->is_usual = !page->is_lossless_jpeg && is_usual(page, is_ink);
    if (tiff->is_usual) {
        info->is_premultiplied = true;
        return check_usual(tiff);
    }
    info->bytes_per_channel = 2;
    info->is_ink = is_ink;
    if (page->photometric == PHOTOMETRIC_SEPARATED) info->has_alpha = false;
    // JPEG's own conversion of YCbCr is libtiff's.
    return cwi_tiff_check_samples(page);
}

cwi_result cwi_open_tiff(
    const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file) {
    tiff_page page;
    cwi_result result = cwi_tiff_read_page(bytes, length, &limits, choice.page, &page);
    if (result.status != CWI_OK) return result;
    tiff_file *tiff = cwi_make_file(sizeof *tiff, &reading, bytes, length, limits, choice);
    if (!tiff) return cwi_failure(CWI_NO_MEMORY, NULL);
    tiff->memory = (tiff_memory){.bytes = bytes, .length = length};
    tiff->page = page;
    tiff->file.info.page_count = page.page_count;
    // "O" reads the offsets of strips when needed, "h" no directory, as libtiff gets the one of the page, and "c" splits no strip.
    tiff->tiff = cwi_tiff_open(&tiff->memory, "rOhc", limits.memory_length);
    if (tiff->tiff && TIFFSetSubDirectory(tiff->tiff, page.offset)) {
        result = read_info(tiff);
    } else {
        result = choice.is_prefix ? cwi_failure(CWI_TRUNCATED, NULL)
                                  : cwi_failure(CWI_CORRUPT, "the directory of the page is damaged");
    }
    if (result.status != CWI_OK) {
        close_file(&tiff->file);
        return result;
    }
    *file = &tiff->file;
    return result;
}

#endif
