#ifndef CWI_WITHOUT_TIFF

#include "tiff.h"

#include <CWebImageJPEG.h>
#include <math.h>
#include <stdio.h>

// Reads what libtiff's own conversion to RGBA does not: any depth, floating point, planes, CIELab.
//
//     block ─ samples ─▶ levels of 16 bits, in the pixels' four channels ─ colors ─▶ RGBA, in place

static uint16_t level(double value) { return value > 0 ? value < 1 ? (uint16_t)(value * 65535 + 0.5) : 65535 : 0; }

// MARK: Samples

static double half(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction ? NAN : INFINITY)
                                    : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -value : value;
}

/// 7 bits of exponent and 16 of fraction, as libtiff's third specification supplement has it.
static double float24(uint32_t bits) {
    int exponent = bits >> 16 & 127;
    uint32_t fraction = bits & 65535;
    double value = exponent == 0     ? ldexp(fraction, -78)
                   : exponent == 127 ? (fraction ? NAN : INFINITY)
                                     : ldexp(fraction + 65536, exponent - 79);
    return bits >> 23 ? -value : value;
}

/// The unsigned number of a sample; libtiff has put whole bytes in native order.
static uint64_t bits_of_sample(const uint8_t *row, uint64_t index, int depth) {
    uint64_t value = 0;
    if (depth == 8) return row[index];
    if (depth == 16 || depth == 24 || depth == 32 || depth == 64) {
        int count = depth / 8;
        const uint16_t one = 1;
        bool is_little_endian = *(const uint8_t *)&one == 1;
        for (int byte = 0; byte < count; byte++)
            value = value << 8 | row[index * (uint64_t)count + (uint64_t)(is_little_endian ? count - 1 - byte : byte)];
        return value;
    }
    uint64_t first = index * (uint64_t)depth;
    for (int read = 0; read < depth;) {
        uint64_t position = first + (uint64_t)read;
        int offset = (int)(position & 7), count = 8 - offset < depth - read ? 8 - offset : depth - read;
        value = value << count | (row[position >> 3] >> (8 - offset - count) & ((1 << count) - 1));
        read += count;
    }
    return value;
}

/// A sample from 0 to 65535. Floating point is clipped to 0 to 1; negative integers begin the range.
static uint16_t level_of_sample(const uint8_t *row, uint64_t index, int depth, int format) {
    uint64_t bits = bits_of_sample(row, index, depth);
    if (format == SAMPLEFORMAT_IEEEFP) {
        if (depth == 16) return level(half((uint16_t)bits));
        if (depth == 24) return level(float24((uint32_t)bits));
        if (depth == 32) {
            uint32_t word = (uint32_t)bits;
            float value;
            memcpy(&value, &word, sizeof value);
            return level(value);
        }
        double value;
        memcpy(&value, &bits, sizeof value);
        return level(value);
    }
    if (format == SAMPLEFORMAT_INT) bits ^= (uint64_t)1 << (depth - 1);
    if (depth == 16) return (uint16_t)bits;
    if (depth == 8) return (uint16_t)(bits * 257);
    if (depth > 16) return (uint16_t)(((bits >> (depth - 17)) + 1) >> 1 > 65535 ? 65535 : ((bits >> (depth - 17)) + 1) >> 1);
    uint32_t maximum = (1u << depth) - 1;
    return (uint16_t)(((uint32_t)bits * 65535 + maximum / 2) / maximum);
}

// MARK: Colors

typedef struct {
    const tiff_page *page;
    bool is_ink;
    int color_count;
    bool has_alpha, is_associated;
    const uint16_t *palette[3];
    /// For each light of 16 bits, sRGB's level.
    uint16_t *encoded;
    float luma[3], reference[6];
} tiff_colors;

int cwi_tiff_color_count(const tiff_page *page) {
    switch (page->photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_PALETTE: return 1;
    case PHOTOMETRIC_SEPARATED: return 4;
    default: return 3;
    }
}

bool cwi_tiff_has_alpha(const tiff_page *page) {
    if (!page->has_alpha_tag || page->channel_count <= cwi_tiff_color_count(page)) return false;
    return page->photometric != PHOTOMETRIC_PALETTE || page->alpha_kind != EXTRASAMPLE_UNSPECIFIED;
}

bool cwi_tiff_is_lab(const tiff_page *page) {
    return page->photometric == PHOTOMETRIC_CIELAB || page->photometric == PHOTOMETRIC_ICCLAB ||
           page->photometric == PHOTOMETRIC_ITULAB;
}

static bool is_raw(const tiff_page *page) { return page->photometric == PHOTOMETRIC_PALETTE || cwi_tiff_is_lab(page); }

static double light_of_cube(double root) { return root > 6.0 / 29 ? root * root * root : (root - 4.0 / 29) * 108 / 841; }

/// CIELab under D50 to sRGB (CIE 15; the white points are adapted by Bradford's method).
static void convert_lab(const tiff_colors *colors, uint16_t pixel[4]) {
    bool is_icc = colors->page->photometric == PHOTOMETRIC_ICCLAB, is_deep = colors->page->depth == 16;
    // TIFF 6.0, section 23, and its supplement for ICCLab, whose numbers of 16 bits are those of 8 times 256.
    double lightness = is_deep ? pixel[0] / (is_icc ? 652.8 : 655.35) : pixel[0] / 2.55, axes[2];
    // ITU-T T.42, as RFC 3949 (8.1.2) has it: the ranges of a and b are those of surfaces.
    static const double first[2] = {128, 96}, range[2] = {170, 200};
    for (int axis = 0; axis < 2; axis++) {
        uint16_t value = pixel[1 + axis];
        if (colors->page->photometric == PHOTOMETRIC_ITULAB) {
            axes[axis] = is_deep ? (value - first[axis] * 256) * range[axis] / 65535 : (value - first[axis]) * range[axis] / 255;
            continue;
        }
        axes[axis] = is_icc ? (is_deep ? value / 256.0 : value) - 128 : is_deep ? (int16_t)value / 256.0 : (int8_t)value;
    }
    double y = (lightness + 16) / 116;
    double light[3] = {
        0.9642 * light_of_cube(y + axes[0] / 500), light_of_cube(y), 0.8249 * light_of_cube(y - axes[1] / 200)};
    static const double matrix[3][3] = {
        {3.1338561, -1.6168667, -0.4906146}, {-0.9787684, 1.9161415, 0.0334540}, {0.0719453, -0.2289914, 1.4052427}};
    for (int row = 0; row < 3; row++)
        pixel[row] = colors->encoded[level(
            matrix[row][0] * light[0] + matrix[row][1] * light[1] + matrix[row][2] * light[2])];
}

static void convert_ycbcr(const tiff_colors *colors, uint16_t pixel[4]) {
    const float *reference = colors->reference, *luma = colors->luma;
    double y = (pixel[0] / 65535.0 - reference[0]) / (reference[1] - reference[0]);
    double cb = (pixel[1] / 65535.0 - reference[2]) / (reference[3] - reference[2]) / 2;
    double cr = (pixel[2] / 65535.0 - reference[4]) / (reference[5] - reference[4]) / 2;
    double red = y + cr * (2 - 2 * luma[0]), blue = y + cb * (2 - 2 * luma[2]);
    pixel[0] = level(red);
    pixel[1] = level((y - luma[0] * red - luma[2] * blue) / luma[1]);
    pixel[2] = level(blue);
}

static void convert_ink(const tiff_colors *colors, uint16_t pixel[4]) {
    for (int channel = 0; channel < 4; channel++) pixel[channel] = 65535 - pixel[channel];
    if (colors->is_ink) return;
    for (int channel = 0; channel < 3; channel++)
        pixel[channel] = (uint16_t)(((uint32_t)pixel[channel] * pixel[3] + 32767) / 65535);
    pixel[3] = 65535;
}

/// Converts levels in place.
static void convert(const tiff_colors *colors, uint16_t *pixel, uint32_t count) {
    for (uint32_t index = 0; index < count; index++, pixel += 4) {
        if (colors->color_count < 4 && !colors->has_alpha) pixel[3] = 65535;
        switch (colors->page->photometric) {
        case PHOTOMETRIC_MINISWHITE: pixel[0] = pixel[1] = pixel[2] = 65535 - pixel[0]; break;
        case PHOTOMETRIC_MINISBLACK: pixel[1] = pixel[2] = pixel[0]; break;
        case PHOTOMETRIC_PALETTE: {
            uint16_t entry = pixel[0];
            for (int channel = 0; channel < 3; channel++) pixel[channel] = colors->palette[channel][entry];
            break;
        }
        case PHOTOMETRIC_SEPARATED: convert_ink(colors, pixel); break;
        case PHOTOMETRIC_YCBCR: convert_ycbcr(colors, pixel); break;
        case PHOTOMETRIC_CIELAB:
        case PHOTOMETRIC_ICCLAB:
        case PHOTOMETRIC_ITULAB: convert_lab(colors, pixel); break;
        default: break;
        }
        uint32_t alpha = pixel[3];
        if (colors->color_count == 4 || !colors->is_associated || alpha == 0 || alpha == 65535) continue;
        for (int channel = 0; channel < 3; channel++) {
            uint64_t straight = ((uint64_t)pixel[channel] * 65535 + alpha / 2) / alpha;
            pixel[channel] = straight > 65535 ? 65535 : (uint16_t)straight;
        }
    }
}

static bool read_palette(TIFF *tiff, tiff_colors *colors) {
    uint16_t *columns[3];
    if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &columns[0], &columns[1], &columns[2])) return false;
    uint32_t count = 1u << colors->page->depth, largest = 0;
    for (int channel = 0; channel < 3; channel++)
        for (uint32_t index = 0; index < count; index++)
            if (columns[channel][index] > largest) largest = columns[channel][index];
    // Some programs write 8 bits, as libtiff notes. The lists are the file's own, and read once.
    for (int channel = 0; largest < 256 && channel < 3; channel++)
        for (uint32_t index = 0; index < count; index++) columns[channel][index] *= 257;
    for (int channel = 0; channel < 3; channel++) colors->palette[channel] = columns[channel];
    return true;
}

static bool read_ycbcr(TIFF *tiff, tiff_colors *colors) {
    float *luma = NULL, *reference = NULL;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_YCBCRCOEFFICIENTS, &luma);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_REFERENCEBLACKWHITE, &reference);
    if (!luma || !reference || !(luma[1] > 0.01f)) return false;
    float scale = (float)ldexp(1, colors->page->depth) - 1;
    for (int index = 0; index < 3; index++) colors->luma[index] = luma[index];
    for (int index = 0; index < 6; index++) colors->reference[index] = reference[index] / scale;
    for (int index = 0; index < 6; index += 2)
        if (!(fabsf(colors->reference[index + 1] - colors->reference[index]) > 1e-6f)) return false;
    return true;
}

static bool make_encoded(tiff_colors *colors) {
    colors->encoded = malloc(65536 * sizeof *colors->encoded);
    if (!colors->encoded) return false;
    for (int index = 0; index < 65536; index++) {
        double light = index / 65535.0;
        colors->encoded[index] = level(light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055);
    }
    return true;
}

// MARK: Blocks

/// How many pixels a sample of a plane is for. libtiff has fewer samples only in planes of chroma.
static void subsampling(const tiff_page *page, int plane, uint32_t *across, uint32_t *down) {
    bool is_chroma = page->is_planar && page->photometric == PHOTOMETRIC_YCBCR && (plane == 1 || plane == 2);
    *across = is_chroma ? page->horizontal_subsampling : 1;
    *down = is_chroma ? page->vertical_subsampling : 1;
}

static uint64_t row_length_of_plane(const tiff_page *page, int plane) {
    uint32_t across, down;
    subsampling(page, plane, &across, &down);
    uint64_t samples = ((uint64_t)page->block_width + across - 1) / across * (page->is_planar ? 1 : page->channel_count);
    return (samples * page->depth + 7) / 8;
}

/// Adds to each sample the one before it in its row, as the predictor of horizontal differences wants. libtiff takes the rows of all
/// planes for as long as the first one's, and so adds across the ends of rows of chroma.
static void undo_differences(const tiff_page *page, int plane, uint8_t *block, size_t length) {
    size_t size = page->depth / 8, row = (size_t)row_length_of_plane(page, plane);
    for (size_t start = 0; start + row <= length; start += row) {
        for (size_t place = start + size; place < start + row; place += size) {
            uint8_t *sample = block + place;
            const uint8_t *previous = sample - size;
            if (size == 1) {
                sample[0] = (uint8_t)(sample[0] + previous[0]);
            } else if (size == 2) {
                uint16_t sum, last;
                memcpy(&sum, sample, sizeof sum);
                memcpy(&last, previous, sizeof last);
                sum = (uint16_t)(sum + last);
                memcpy(sample, &sum, sizeof sum);
            } else {
                uint32_t sum, last;
                memcpy(&sum, sample, sizeof sum);
                memcpy(&last, previous, sizeof last);
                sum += last;
                memcpy(sample, &sum, sizeof sum);
            }
        }
    }
}

/// Takes the predictor over from libtiff, before it reads a block; false if there is none.
static bool take_differences(TIFF *tiff, const tiff_page *page) {
    bool is_subsampled = page->is_planar && page->photometric == PHOTOMETRIC_YCBCR &&
                         (page->horizontal_subsampling > 1 || page->vertical_subsampling > 1);
    uint16_t predictor = PREDICTOR_NONE;
    if (!is_subsampled || !TIFFGetField(tiff, TIFFTAG_PREDICTOR, &predictor)) return false;
    bool has_size = page->depth == 8 || page->depth == 16 || page->depth == 32;
    if (predictor != PREDICTOR_HORIZONTAL || !has_size) return false;
    return TIFFSetField(tiff, TIFFTAG_PREDICTOR, PREDICTOR_NONE);
}

/// The bytes of a block in a plane; all that libtiff has, where no samples are missing.
static tmsize_t length_of_block(const tiff_page *page, int plane, uint32_t rows, tmsize_t capacity) {
    uint32_t across, down;
    subsampling(page, plane, &across, &down);
    if (across == 1 && down == 1) return capacity;
    uint64_t length = row_length_of_plane(page, plane) * (((uint64_t)rows + down - 1) / down);
    return length < (uint64_t)capacity ? (tmsize_t)length : capacity;
}

/// Writes the samples of a part of a block to their channels of the pixels.
///
/// - stride: the pixels of a row.
static void unpack(
    const tiff_colors *colors, const uint8_t *block, size_t length, int plane, cwi_part part, uint16_t *pixels,
    size_t stride) {
    const tiff_page *page = colors->page;
    uint32_t stored = page->is_planar ? 1 : page->channel_count, across, down;
    subsampling(page, plane, &across, &down);
    uint64_t row_length = row_length_of_plane(page, plane);
    int alpha = colors->color_count < 4 && colors->has_alpha ? colors->color_count : -1;
    for (uint32_t row = part.y; row < part.y + part.height && (row / down + 1) * row_length <= length; row++) {
        const uint8_t *source = block + row / down * row_length;
        uint16_t *pixel = pixels + (row - part.y) * stride * 4;
        for (uint32_t column = part.x; column < part.x + part.width; column++, pixel += 4) {
            for (uint32_t channel = 0; channel < stored && channel <= 4; channel++) {
                int index = page->is_planar ? plane : (int)channel;
                int target = index < colors->color_count ? index : index == alpha ? 3 : -1;
                if (target < 0) continue;
                uint64_t sample = (uint64_t)(column / across) * stored + channel;
                pixel[target] = is_raw(page) && index < colors->color_count
                                    ? (uint16_t)bits_of_sample(source, sample, page->depth)
                                    : level_of_sample(source, sample, page->depth, page->format);
            }
        }
    }
}

/// Starts to read a block as a lossless JPEG.
static bool open_lossless(TIFF *tiff, const tiff_memory *memory, uint32_t index, cwi_lossless_jpeg *jpeg) {
    uint64_t offset = TIFFGetStrileOffset(tiff, index), length = TIFFGetStrileByteCount(tiff, index);
    uint32_t tables_length = 0;
    void *tables = NULL;
    if (offset > memory->length || length > memory->length - offset) return false;
    if (!TIFFGetField(tiff, TIFFTAG_JPEGTABLES, &tables_length, &tables)) tables = NULL;
    return cwi_lossless_jpeg_open(jpeg, memory->bytes + offset, (size_t)length, tables, tables_length) == CWI_JPEG_OK;
}

bool cwi_tiff_is_lossless_jpeg(TIFF *tiff, const tiff_page *page, const tiff_memory *memory) {
    cwi_lossless_jpeg jpeg;
    return page->compression == COMPRESSION_JPEG && open_lossless(tiff, memory, 0, &jpeg);
}

/// Reads a block's samples, scaled to 16 bits. Its rows may be divided otherwise, as in DNG.
static tmsize_t read_lossless(
    TIFF *tiff, const tiff_memory *memory, const tiff_page *page, uint32_t index, void *block, size_t capacity) {
    cwi_lossless_jpeg jpeg;
    if (!open_lossless(tiff, memory, index, &jpeg)) return -1;
    size_t count = (size_t)jpeg.width * jpeg.height * (size_t)jpeg.component_count;
    size_t row = (size_t)page->block_width * (page->is_planar ? 1 : page->channel_count);
    if (count * 2 > capacity || count % row != 0) return -1;
    if (cwi_lossless_jpeg_read(&jpeg, block, (size_t)jpeg.component_count, UINT32_MAX) != CWI_JPEG_OK) return -1;
    cwi_lossless_jpeg_scale(block, count, page->depth > jpeg.precision ? page->depth : jpeg.precision);
    return (tmsize_t)(count * 2);
}

/// The pixels of an interval that are in a block, from its start. Returns false if there are none.
static bool cut(uint32_t block, uint32_t block_length, uint32_t start, uint32_t length, uint32_t *first, uint32_t *count) {
    uint64_t low = block > start ? block : start, high = (uint64_t)block + block_length;
    if ((uint64_t)start + length < high) high = (uint64_t)start + length;
    if (low >= high) return false;
    *first = (uint32_t)(low - block);
    *count = (uint32_t)(high - low);
    return true;
}

uint64_t cwi_tiff_read_samples(
    TIFF *tiff, const tiff_memory *memory, const tiff_page *page, cwi_part part, bool is_ink, uint16_t *pixels, bool stops,
    uint64_t *first) {
    // Of a lossless JPEG, samples are scaled to 16 bits.
    tiff_page scaled = *page;
    if (page->is_lossless_jpeg) scaled.depth = 16;
    tiff_colors colors = {.page = &scaled, .is_ink = is_ink, .color_count = cwi_tiff_color_count(page)};
    colors.has_alpha = cwi_tiff_has_alpha(page);
    // A palette has the colors of all pixels, however transparent they are.
    colors.is_associated = colors.has_alpha && page->alpha_kind != EXTRASAMPLE_UNASSALPHA &&
                           page->photometric != PHOTOMETRIC_PALETTE;
    *first = 0;
    if (page->photometric == PHOTOMETRIC_PALETTE && !read_palette(tiff, &colors)) return page->block_count;
    if (page->photometric == PHOTOMETRIC_YCBCR && !read_ycbcr(tiff, &colors)) return page->block_count;
    if (cwi_tiff_is_lab(page) && !make_encoded(&colors)) return page->block_count;
    bool has_differences = take_differences(tiff, page);
    tmsize_t capacity = page->is_tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
    if (page->is_lossless_jpeg)
        capacity = (tmsize_t)page->block_width * page->block_height * (page->is_planar ? 1 : page->channel_count) * 2;
    uint64_t most = page->is_lossless_jpeg ? page->block_length * 16 : page->block_length + 16;
    uint8_t *block = capacity > 0 && (uint64_t)capacity <= most ? malloc((size_t)capacity) : NULL;
    uint64_t damaged_count = block ? 0 : page->block_count;
    int used = colors.color_count + (colors.has_alpha && colors.color_count < 4 ? 1 : 0);
    for (uint32_t top = 0; block && top < page->height; top += page->block_height) {
        for (uint32_t left = 0; left < page->width; left += page->block_width) {
            uint32_t rows = page->height - top < page->block_height ? page->height - top : page->block_height;
            cwi_part inner;
            if (!cut(top, page->block_height, part.y, part.height, &inner.y, &inner.height) ||
                !cut(left, page->block_width, part.x, part.width, &inner.x, &inner.width))
                continue;
            uint16_t *place = pixels + ((size_t)(top + inner.y - part.y) * part.width + (left + inner.x - part.x)) * 4;
            bool is_whole = true;
            for (int plane = 0; is_whole && plane < (page->is_planar ? used : 1); plane++) {
                uint32_t index = page->is_tiled ? TIFFComputeTile(tiff, left, top, 0, (uint16_t)plane)
                                                : TIFFComputeStrip(tiff, top, (uint16_t)plane);
                tmsize_t length = page->is_lossless_jpeg
                                      ? read_lossless(tiff, memory, page, index, block, (size_t)capacity)
                                  : page->is_tiled
                                      ? TIFFReadEncodedTile(
                                            tiff, index, block, length_of_block(page, plane, page->block_height, capacity))
                                      : TIFFReadEncodedStrip(
                                            tiff, index, block, length_of_block(page, plane, rows, capacity));
                if (length < 0) {
                    if (damaged_count++ == 0) *first = index;
                    is_whole = false;
                } else {
                    if (has_differences) undo_differences(page, plane, block, (size_t)length);
                    unpack(&colors, block, (size_t)length, plane, inner, place, part.width);
                }
            }
            for (uint32_t row = 0; row < inner.height; row++) {
                uint16_t *line = place + (size_t)row * part.width * 4;
                if (is_whole) {
                    convert(&colors, line, inner.width);
                } else {
                    memset(line, 0, (size_t)inner.width * 8);
                }
            }
            if (!is_whole && stops) goto end;
        }
    }
end:
    free(block);
    free(colors.encoded);
    return damaged_count;
}

static bool is_factor(uint16_t value) { return value == 1 || value == 2 || value == 4; }

cwi_result cwi_tiff_check_samples(const tiff_page *page) {
    char text[CWI_MESSAGE_LENGTH];
    int colors = cwi_tiff_color_count(page), depth = page->depth;
    bool is_float = page->format == SAMPLEFORMAT_IEEEFP;
    bool is_integer = page->format == SAMPLEFORMAT_UINT || page->format == SAMPLEFORMAT_INT ||
                      page->format == SAMPLEFORMAT_VOID;
    snprintf(text, sizeof text, "photometric interpretation %d", page->photometric);
    switch (page->photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_RGB: break;
    case PHOTOMETRIC_PALETTE:
        snprintf(text, sizeof text, "a palette with %d bits a pixel", depth);
        if (depth > 16 || is_float) return cwi_failure(CWI_UNSUPPORTED, text);
        break;
    case PHOTOMETRIC_SEPARATED:
        if (page->ink_set != INKSET_CMYK) return cwi_failure(CWI_UNSUPPORTED, "inks other than CMYK");
        break;
    case PHOTOMETRIC_YCBCR:
        if (page->horizontal_subsampling == 1 && page->vertical_subsampling == 1) break;
        // libtiff has other rows in planes of JPEG.
        bool is_subsampled = is_factor(page->horizontal_subsampling) && is_factor(page->vertical_subsampling);
        if (page->is_planar && is_subsampled && page->compression != COMPRESSION_JPEG) break;
        snprintf(
            text, sizeof text, "YCbCr of %d bits with fewer chroma samples%s", depth,
            page->is_planar ? " in planes" : "");
        return cwi_failure(CWI_UNSUPPORTED, text);
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
    case PHOTOMETRIC_ITULAB:
        snprintf(text, sizeof text, "CIELab of %d bits a channel", depth);
        if (is_float || (depth != 8 && depth != 16)) return cwi_failure(CWI_UNSUPPORTED, text);
        break;
    case UINT16_MAX: return cwi_failure(CWI_CORRUPT, "no photometric interpretation");
    default: return cwi_failure(CWI_UNSUPPORTED, text);
    }
    bool is_raw_jpeg = page->is_lossless_jpeg && (is_raw(page) || depth < 8 || depth > 16 || is_float);
    if (is_raw_jpeg) return cwi_failure(CWI_UNSUPPORTED, "lossless JPEG of such samples");
    if (page->channel_count < colors) {
        snprintf(text, sizeof text, "%d channels for %d colors", page->channel_count, colors);
        return cwi_failure(CWI_CORRUPT, text);
    }
    snprintf(text, sizeof text, "floating point of %d bits", depth);
    if (is_float && depth != 16 && depth != 24 && depth != 32 && depth != 64) return cwi_failure(CWI_UNSUPPORTED, text);
    snprintf(text, sizeof text, "integers of %d bits", depth);
    if (is_integer && depth > 32 && depth != 64) return cwi_failure(CWI_UNSUPPORTED, text);
    snprintf(text, sizeof text, "sample format %d, such as complex numbers", page->format);
    return is_float || is_integer ? cwi_success() : cwi_failure(CWI_UNSUPPORTED, text);
}

#endif
