#ifndef CWI_WITHOUT_JP2

#include "jp2.h"

#include <math.h>

/// Reads the values of one channel, as levels from 0 to 65535.
typedef struct {
    const opj_image_comp_t *component;
    /// The level of each value, after `bias` is added and the low bits beyond 16 are dropped.
    uint16_t *levels;
    int64_t bias, last;
    int shift;
    /// The column of the component for each pixel, or NULL if they are the same.
    uint32_t *columns;
    /// The first row on the component's grid, and the distance of its rows.
    uint32_t first_row, dy;
    uint16_t *line;
} channel_reader;

enum { TABLE_BITS = 16 };

static void close_reader(channel_reader *reader) {
    free(reader->levels);
    free(reader->columns);
    free(reader->line);
}

static bool make_levels(channel_reader *reader, const cwi_jp2_picture *picture, const cwi_jp2_channel *channel) {
    const opj_image_comp_t *component = reader->component;
    int depth = (int)component->prec;
    size_t count = channel->palette_count;
    if (count == 0) {
        reader->shift = depth > TABLE_BITS ? depth - TABLE_BITS : 0;
        count = (size_t)1 << (depth - reader->shift);
        if (component->sgnd) reader->bias = (int64_t)1 << (depth - 1);
    }
    reader->last = (int64_t)count - 1;
    reader->levels = malloc(count * sizeof *reader->levels);
    if (!reader->levels) return false;
    if (channel->palette_count > 0) {
        memcpy(reader->levels, picture->palette + channel->palette_start, count * sizeof *reader->levels);
    } else {
        for (size_t value = 0; value < count; value++)
            reader->levels[value] = (uint16_t)((value * 65535 + (count - 1) / 2) / (count - 1));
    }
    return true;
}

/// The column or row of a component for each of the image's. Those of a component with fewer ones repeat.
static uint32_t place(uint64_t position, uint32_t distance, uint32_t step, uint32_t first, uint32_t count) {
    uint64_t own = position * distance / step;
    own = own < first ? 0 : own - first;
    return own < count ? (uint32_t)own : count - 1;
}

static bool open_reader(
    channel_reader *reader, const cwi_jp2_picture *picture, const cwi_jp2_channel *channel, const opj_image_t *image,
    int reduction, uint32_t top, uint32_t width) {
    const opj_image_comp_t *component = reader->component = &image->comps[channel->component];
    if (!component->data || component->w == 0 || component->h == 0 || component->prec < 1 || component->prec > 31)
        return false;
    reader->line = malloc((size_t)width * sizeof *reader->line);
    if (!reader->line || !make_levels(reader, picture, channel)) return false;
    uint32_t first_column = cwi_jp2_first_kept((picture->x0 + channel->dx - 1) / channel->dx, reduction);
    reader->first_row = cwi_jp2_first_kept((uint32_t)(((uint64_t)top + channel->dy - 1) / channel->dy), reduction);
    reader->dy = channel->dy;
    if (channel->dx == picture->dx && component->w >= width) return true;
    reader->columns = malloc((size_t)width * sizeof *reader->columns);
    if (!reader->columns) return false;
    uint64_t start = cwi_jp2_first_kept((picture->x0 + picture->dx - 1) / picture->dx, reduction);
    for (uint32_t x = 0; x < width; x++)
        reader->columns[x] = place(start + x, picture->dx, channel->dx, first_column, component->w);
    return true;
}

static void read_line(channel_reader *reader, uint64_t row, uint32_t dy, uint32_t width) {
    const opj_image_comp_t *component = reader->component;
    const int32_t *values =
        component->data + (size_t)place(row, dy, reader->dy, reader->first_row, component->h) * component->w;
    for (uint32_t x = 0; x < width; x++) {
        int64_t value = (values[reader->columns ? reader->columns[x] : x] + reader->bias) >> reader->shift;
        value = value < 0 ? 0 : value > reader->last ? reader->last : value;
        reader->line[x] = reader->levels[value];
    }
}

static inline uint16_t level(double value) {
    return value <= 0 ? 0 : value >= 65535 ? 65535 : (uint16_t)(value + 0.5);
}

/// sYCC (IEC 61966-2-1, amendment 1) to sRGB, with the integers of the luma's depth and the rounding of OpenJPEG's programs:
/// their results are equal.
static void convert_ycc(const cwi_jp2_picture *picture, const double *color, uint16_t *result) {
    double y = rint(color[0]), blue = rint(color[1]), red = rint(color[2]), rgb[3];
    if (picture->colors == CWI_JP2_YCC) {
        rgb[0] = y + trunc(1.402 * red);
        rgb[1] = y - trunc(0.344 * blue + 0.714 * red);
        rgb[2] = y + trunc(1.772 * blue);
    } else {
        rgb[0] = trunc(y - 0.0000368 * blue + 1.40199 * red + 0.5);
        rgb[1] = trunc(1.0003 * y - 0.344125 * blue - 0.7141128 * red + 0.5);
        rgb[2] = trunc(0.999823 * y + 1.77204 * blue - 0.000008 * red + 0.5);
    }
    for (int index = 0; index < 3; index++) result[index] = level(rgb[index] / picture->channels[0].scale);
}

/// Each ink absorbs its light; 8 bits, rounded down as by OpenJPEG's programs.
static void convert_cmyk(const cwi_jp2_picture *picture, const uint16_t *levels, uint16_t *result) {
    float left[4];
    for (int ink = 0; ink < 4; ink++) {
        double scale = picture->channels[ink].scale;
        left[ink] = 1 - (float)rint(levels[ink] * scale) * (1 / (float)rint(65535 * scale));
    }
    for (int ink = 0; ink < 3; ink++) result[ink] = (uint16_t)((int)(255 * left[ink] * left[3]) * 257);
}

static double lab_light(double value) {
    return value > 6.0 / 29 ? value * value * value : 3 * 36.0 / 841 * (value - 4.0 / 29);
}

/// sRGB's curve (IEC 61966-2-1).
static double encoded(double light) {
    return light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

/// CIELab (CIE 15) under D50 to sRGB, whose white is adapted to D50 with the Bradford method as in ICC profiles.
static void convert_lab(const double *color, uint16_t *result) {
    double l = (color[0] + 16) / 116;
    double x = 0.9642 * lab_light(l + color[1] / 500), y = lab_light(l), z = 0.8249 * lab_light(l - color[2] / 200);
    result[0] = level(65535 * encoded(3.1338561 * x - 1.6168667 * y - 0.4906146 * z));
    result[1] = level(65535 * encoded(-0.9787684 * x + 1.9161415 * y + 0.0334540 * z));
    result[2] = level(65535 * encoded(0.0719453 * x - 0.2289914 * y + 1.4052427 * z));
}

static void convert_pixel(const cwi_jp2_picture *picture, const uint16_t *levels, uint16_t *result) {
    double color[3];
    switch (picture->colors) {
    case CWI_JP2_GRAY: result[0] = result[1] = result[2] = levels[0]; break;
    case CWI_JP2_RGB: memcpy(result, levels, 3 * sizeof *result); break;
    case CWI_JP2_CMYK: convert_cmyk(picture, levels, result); break;
    case CWI_JP2_INK:
        for (int ink = 0; ink < 4; ink++) result[ink] = 65535 - levels[ink];
        break;
    case CWI_JP2_YCC:
    case CWI_JP2_EYCC:
    case CWI_JP2_LAB:
        for (int index = 0; index < 3; index++)
            color[index] = levels[index] * picture->channels[index].scale + picture->channels[index].offset;
        if (picture->colors == CWI_JP2_LAB) convert_lab(color, result);
        else convert_ycc(picture, color, result);
        break;
    }
}

/// Writes 16 bits a channel, straight.
static void write_deep(const cwi_jp2_picture *picture, uint16_t *color, uint8_t *target) {
    if (picture->is_premultiplied) {
        for (int channel = 0; channel < 3 && color[3] > 0; channel++) {
            uint32_t straight = ((uint32_t)color[channel] * 65535u + color[3] / 2) / color[3];
            color[channel] = (uint16_t)(straight > 65535 ? 65535 : straight);
        }
    }
    memcpy(target, color, 4 * sizeof *color);
}

static void write_byte(const cwi_jp2_picture *picture, const uint16_t *color, uint8_t *target) {
    for (int channel = 0; channel < 4; channel++) {
        // More color than alpha is no color.
        uint16_t value = picture->is_premultiplied && color[channel] > color[3] ? color[3] : color[channel];
        target[channel] = (uint8_t)((value + 128) / 257);
    }
}

/// Copies components of 8 bits and one size, by far the most common ones. Returns false for others.
static bool copy_bytes(
    const cwi_jp2_picture *picture, const channel_reader *readers, uint8_t *pixels, size_t stride, uint32_t width,
    uint32_t height) {
    if (picture->colors > CWI_JP2_RGB || picture->depth > 8 || picture->is_premultiplied) return false;
    int count = picture->color_count + (picture->has_alpha ? 1 : 0);
    for (int index = 0; index < count; index++) {
        const cwi_jp2_channel *channel = &picture->channels[index];
        const opj_image_comp_t *component = readers[index].component;
        if (readers[index].columns || channel->palette_count > 0 || component->prec != 8 || component->sgnd ||
            channel->dy != picture->dy || component->h < height)
            return false;
    }
    for (int channel = 0; channel < 4; channel++) {
        int index = channel < 3 ? (picture->color_count == 1 ? 0 : channel) : picture->has_alpha ? count - 1 : -1;
        const opj_image_comp_t *component = index < 0 ? NULL : readers[index].component;
        for (uint32_t y = 0; y < height; y++) {
            uint8_t *target = pixels + y * stride + channel;
            const int32_t *source = component ? component->data + (size_t)y * component->w : NULL;
            for (uint32_t x = 0; x < width; x++) {
                int32_t value = source ? source[x] : 255;
                target[(size_t)x * 4] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
            }
        }
    }
    return true;
}

static void copy_lines(
    const cwi_jp2_picture *picture, channel_reader *readers, uint8_t *pixels, size_t stride, uint32_t width,
    uint32_t height, uint64_t start) {
    int count = picture->color_count + (picture->has_alpha ? 1 : 0);
    for (uint32_t y = 0; y < height; y++) {
        uint8_t *row = pixels + y * stride;
        for (int index = 0; index < count; index++) read_line(&readers[index], start + y, picture->dy, width);
        for (uint32_t x = 0; x < width; x++) {
            uint16_t levels[CWI_JP2_CHANNELS], color[4] = {0, 0, 0, 65535};
            for (int index = 0; index < count; index++) levels[index] = readers[index].line[x];
            convert_pixel(picture, levels, color);
            if (picture->has_alpha) color[3] = levels[picture->color_count];
            if (cwi_jp2_is_deep(picture)) write_deep(picture, color, row + (size_t)x * 8);
            else write_byte(picture, color, row + (size_t)x * 4);
        }
    }
}

cwi_jp2_rows cwi_jp2_all_rows(const cwi_jp2_picture *picture, int reduction) {
    uint32_t first = (picture->y0 + picture->dy - 1) / picture->dy;
    return (cwi_jp2_rows){cwi_jp2_first_kept(first, reduction), cwi_jp2_kept(first, picture->height, reduction)};
}

/// The place of a row on the reference grid. The first and the last row may begin and end between its places there.
static uint32_t on_grid(const cwi_jp2_picture *picture, uint32_t row, int reduction) {
    uint64_t place = ((uint64_t)row << reduction) * picture->dy;
    return place > picture->y1 ? picture->y1 : place < picture->y0 ? picture->y0 : (uint32_t)place;
}

uint32_t cwi_jp2_top(const cwi_jp2_picture *picture, cwi_jp2_rows rows, int reduction) {
    return rows.first == cwi_jp2_all_rows(picture, reduction).first ? picture->y0 : on_grid(picture, rows.first, reduction);
}

uint32_t cwi_jp2_bottom(const cwi_jp2_picture *picture, cwi_jp2_rows rows, int reduction) {
    cwi_jp2_rows all = cwi_jp2_all_rows(picture, reduction);
    uint32_t end = rows.first + rows.count;
    return end >= all.first + all.count ? picture->y1 : on_grid(picture, end, reduction);
}

bool cwi_jp2_copy_pixels(
    const cwi_jp2_picture *picture, const opj_image_t *image, int reduction, cwi_jp2_rows rows, void *pixels,
    size_t stride) {
    uint32_t first_column = (picture->x0 + picture->dx - 1) / picture->dx;
    uint32_t top = cwi_jp2_top(picture, rows, reduction);
    uint32_t width = cwi_jp2_kept(first_column, picture->width, reduction);
    uint32_t height = rows.count;
    int count = picture->color_count + (picture->has_alpha ? 1 : 0);
    channel_reader readers[CWI_JP2_CHANNELS] = {0};
    bool is_open = width > 0 && height > 0;
    for (int index = 0; index < count && is_open; index++)
        is_open = picture->channels[index].component < image->numcomps &&
                  open_reader(&readers[index], picture, &picture->channels[index], image, reduction, top, width);
    if (is_open && !copy_bytes(picture, readers, pixels, stride, width, height))
        copy_lines(picture, readers, pixels, stride, width, height, rows.first);
    for (int index = 0; index < CWI_JP2_CHANNELS; index++) close_reader(&readers[index]);
    return is_open;
}

#endif
