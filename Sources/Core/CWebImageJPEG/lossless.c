#include "CWebImageLosslessJPEG.h"

#include <string.h>

enum { SOF3 = 0xC3, DHT = 0xC4, RST0 = 0xD0, SOI = 0xD8, EOI = 0xD9, SOS = 0xDA, DRI = 0xDD, APP0 = 0xE0, APP14 = 0xEE };

static cwi_jpeg_status fail(cwi_lossless_jpeg *jpeg, cwi_jpeg_status status, const char *message) {
    jpeg->message = message;
    return status;
}

static cwi_jpeg_status truncated(cwi_lossless_jpeg *jpeg) {
    return fail(jpeg, CWI_JPEG_TRUNCATED, "the file ends early");
}

// Moves behind the next marker, and returns its code; -1 at the end. Stray bytes are skipped.
static int next_marker(cwi_lossless_jpeg *jpeg) {
    while (jpeg->offset + 1 < jpeg->length) {
        uint8_t code = jpeg->bytes[jpeg->offset + 1];
        if (jpeg->bytes[jpeg->offset++] != 0xFF || code == 0 || code == 0xFF) continue;
        jpeg->offset++;
        return code;
    }
    return -1;
}

// MARK: Segments

static cwi_jpeg_status read_tables(cwi_lossless_jpeg *jpeg, const uint8_t *bytes, size_t length) {
    while (length >= 17) {
        unsigned number = bytes[0] & 15, total = 0, code = 0;
        cwi_lossless_table table = {.is_set = true};
        for (int bits = 1; bits <= 16; bits++) {
            table.count[bits] = bytes[bits];
            table.first_value[bits] = (uint16_t)total;
            table.first_code[bits] = code;
            total += bytes[bits];
            code = (code + bytes[bits]) << 1;
            if (code > 2u << bits) return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid Huffman table");
        }
        if (number > 3 || total > 17 || length < 17 + total)
            return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid Huffman table");
        for (unsigned index = 0; index < total; index++) {
            table.values[index] = bytes[17 + index];
            if (table.values[index] > 16) return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid Huffman table");
        }
        jpeg->tables[number] = table;
        bytes += 17 + total;
        length -= 17 + total;
    }
    return CWI_JPEG_OK;
}

static cwi_jpeg_status read_frame(cwi_lossless_jpeg *jpeg, const uint8_t *bytes, size_t length) {
    if (length < 6 || jpeg->width > 0) return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid frame header");
    jpeg->precision = bytes[0];
    jpeg->height = (uint32_t)(bytes[1] << 8 | bytes[2]);
    jpeg->width = (uint32_t)(bytes[3] << 8 | bytes[4]);
    jpeg->component_count = bytes[5];
    if (jpeg->width == 0 || jpeg->height == 0 || jpeg->precision < 2 || jpeg->precision > 16)
        return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid frame header");
    if (jpeg->component_count != 1 && jpeg->component_count != 3 && jpeg->component_count != 4)
        return fail(jpeg, CWI_JPEG_UNSUPPORTED, "lossless JPEG of other than 1, 3 or 4 components");
    if (length < 6 + 3 * (size_t)jpeg->component_count) return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid frame header");
    for (int index = 0; index < jpeg->component_count; index++) {
        jpeg->components[index].identifier = bytes[6 + index * 3];
        // With one component, its sampling has no meaning.
        if (bytes[7 + index * 3] != 0x11 && jpeg->component_count > 1)
            return fail(jpeg, CWI_JPEG_UNSUPPORTED, "lossless JPEG with subsampling");
    }
    return CWI_JPEG_OK;
}

static cwi_jpeg_status read_scan(cwi_lossless_jpeg *jpeg, const uint8_t *bytes, size_t length) {
    if (jpeg->width == 0 || length < 1 || length < 4 + 2 * (size_t)bytes[0] || bytes[0] < 1 || bytes[0] > 4)
        return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid scan header");
    jpeg->scan_component_count = bytes[0];
    unsigned seen = jpeg->complete_components;
    for (int index = 0; index < bytes[0]; index++) {
        int found = 0;
        while (found < jpeg->component_count && jpeg->components[found].identifier != bytes[1 + index * 2]) found++;
        int table = bytes[2 + index * 2] >> 4;
        if (found == jpeg->component_count || seen & 1u << found || table > 3 || !jpeg->tables[table].is_set)
            return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid scan header");
        seen |= 1u << found;
        jpeg->components[found].table = (uint8_t)table;
        jpeg->scan_components[index] = found;
    }
    const uint8_t *last = bytes + 1 + 2 * bytes[0];
    jpeg->predictor = last[0];
    jpeg->shift = last[2] & 15;
    if (jpeg->predictor < 1 || jpeg->predictor > 7 || jpeg->shift >= jpeg->precision)
        return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid scan header");
    if (jpeg->restart_interval % jpeg->width != 0)
        return fail(jpeg, CWI_JPEG_UNSUPPORTED, "lossless JPEG with restarts inside of rows");
    jpeg->row = 0;
    jpeg->rows_to_restart = jpeg->restart_interval / jpeg->width;
    jpeg->is_first_row = true;
    jpeg->bits = 0;
    jpeg->bit_count = jpeg->padding_count = 0;
    return CWI_JPEG_OK;
}

// Reads segments up to a scan, or up to the end.
static cwi_jpeg_status read_segments(cwi_lossless_jpeg *jpeg) {
    for (;;) {
        int marker = next_marker(jpeg);
        if (marker < 0) return truncated(jpeg);
        if (marker == EOI) return fail(jpeg, CWI_JPEG_CORRUPT, "components are missing");
        if (marker == SOI || marker == 1 || (marker >= RST0 && marker < SOI)) continue;
        if (jpeg->length - jpeg->offset < 2) return truncated(jpeg);
        size_t length = (size_t)(jpeg->bytes[jpeg->offset] << 8 | jpeg->bytes[jpeg->offset + 1]);
        if (length < 2) return fail(jpeg, CWI_JPEG_CORRUPT, "an invalid segment length");
        if (jpeg->length - jpeg->offset < length) return truncated(jpeg);
        const uint8_t *content = jpeg->bytes + jpeg->offset + 2;
        jpeg->offset += length;
        length -= 2;
        cwi_jpeg_status status = CWI_JPEG_OK;
        switch (marker) {
        case SOF3: status = read_frame(jpeg, content, length); break;
        case DHT: status = read_tables(jpeg, content, length); break;
        case DRI:
            if (length >= 2) jpeg->restart_interval = (uint32_t)(content[0] << 8 | content[1]);
            break;
        case APP0:
            // JFIF has no other colors.
            if (length >= 5 && memcmp(content, "JFIF", 5) == 0) jpeg->is_ycc = true;
            break;
        case APP14:
            if (length >= 12 && memcmp(content, "Adobe", 5) == 0) jpeg->is_ycc = content[11] != 0;
            break;
        case SOS: return read_scan(jpeg, content, length);
        default:
            // Another frame: SOF0 to SOF15.
            if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC8 && marker != 0xCC)
                return fail(jpeg, CWI_JPEG_UNSUPPORTED, "a second kind of JPEG in a lossless one");
        }
        if (status != CWI_JPEG_OK) return status;
    }
}

cwi_jpeg_status cwi_lossless_jpeg_open(
    cwi_lossless_jpeg *jpeg, const uint8_t *bytes, size_t length, const uint8_t *tables, size_t tables_length) {
    *jpeg = (cwi_lossless_jpeg){.bytes = tables, .length = tables_length, .message = ""};
    // They end without a scan.
    if (tables) read_segments(jpeg);
    if (jpeg->width > 0) return fail(jpeg, CWI_JPEG_CORRUPT, "a frame in the tables of a TIFF");
    jpeg->bytes = bytes;
    jpeg->length = length;
    jpeg->offset = 0;
    if (length < 2 || bytes[0] != 0xFF || bytes[1] != SOI) return fail(jpeg, CWI_JPEG_CORRUPT, "no JPEG");
    return read_segments(jpeg);
}

// MARK: Codes

// Fills `bits`, of which the highest are next, to at least 25; behind the scan's data with zeros.
static inline void fill(cwi_lossless_jpeg *jpeg) {
    while (jpeg->bit_count <= 24) {
        uint32_t byte = 0;
        bool is_marker = false;
        if (jpeg->offset < jpeg->length) {
            byte = jpeg->bytes[jpeg->offset];
            is_marker = byte == 0xFF && (jpeg->offset + 1 >= jpeg->length || jpeg->bytes[jpeg->offset + 1] != 0);
        }
        if (is_marker || jpeg->offset >= jpeg->length) {
            byte = 0;
            jpeg->padding_count += 8;
        } else {
            jpeg->offset += byte == 0xFF ? 2 : 1;
        }
        jpeg->bits |= byte << (24 - jpeg->bit_count);
        jpeg->bit_count += 8;
    }
}

static inline uint32_t take(cwi_lossless_jpeg *jpeg, int count) {
    uint32_t value = count == 0 ? 0 : jpeg->bits >> (32 - count);
    jpeg->bits <<= count;
    jpeg->bit_count -= count;
    return value;
}

// Reads a difference; false for an invalid code.
static inline bool read_difference(cwi_lossless_jpeg *jpeg, const cwi_lossless_table *table, int32_t *difference) {
    fill(jpeg);
    int length = 1;
    uint32_t code = jpeg->bits >> 31;
    while (length <= 16 && code - table->first_code[length] >= table->count[length]) {
        length++;
        code = jpeg->bits >> (32 - length);
    }
    if (length > 16) return false;
    take(jpeg, length);
    int category = table->values[table->first_value[length] + (code - table->first_code[length])];
    *difference = category == 16 ? 32768 : 0;
    if (category == 0 || category == 16) return true;
    fill(jpeg);
    int32_t value = (int32_t)take(jpeg, category);
    *difference = value < 1 << (category - 1) ? value - (1 << category) + 1 : value;
    return true;
}

// T.81, table H.1, of the samples to the left, above, and diagonal.
static inline int32_t prediction(int predictor, int32_t left, int32_t above, int32_t corner) {
    switch (predictor) {
    case 1: return left;
    case 2: return above;
    case 3: return corner;
    case 4: return left + above - corner;
    case 5: return left + ((above - corner) >> 1);
    case 6: return above + ((left - corner) >> 1);
    default: return (left + above) >> 1;
    }
}

static cwi_jpeg_status read_row(cwi_lossless_jpeg *jpeg, uint16_t *samples, size_t stride) {
    uint16_t *row = samples + (size_t)jpeg->row * jpeg->width * stride;
    const uint16_t *above = jpeg->is_first_row ? NULL : row - jpeg->width * stride;
    for (uint32_t x = 0; x < jpeg->width; x++) {
        for (int index = 0; index < jpeg->scan_component_count; index++) {
            int component = jpeg->scan_components[index];
            size_t place = x * stride + (size_t)component;
            int32_t difference, predicted;
            if (!read_difference(jpeg, &jpeg->tables[jpeg->components[component].table], &difference) ||
                jpeg->bit_count < jpeg->padding_count) {
                bool is_end = jpeg->offset + 1 >= jpeg->length;
                return is_end ? truncated(jpeg) : fail(jpeg, CWI_JPEG_CORRUPT, "an invalid code");
            }
            if (x == 0) {
                predicted = above ? above[place] >> jpeg->shift : 1 << (jpeg->precision - jpeg->shift - 1);
            } else if (!above) {
                predicted = row[place - stride] >> jpeg->shift;
            } else {
                predicted = prediction(
                    jpeg->predictor, row[place - stride] >> jpeg->shift, above[place] >> jpeg->shift,
                    above[place - stride] >> jpeg->shift);
            }
            row[place] = (uint16_t)((uint32_t)(predicted + difference) << jpeg->shift);
        }
    }
    jpeg->row++;
    jpeg->is_first_row = false;
    return CWI_JPEG_OK;
}

static cwi_jpeg_status restart(cwi_lossless_jpeg *jpeg) {
    int marker = next_marker(jpeg);
    if (marker < 0) return truncated(jpeg);
    if (marker < RST0 || marker >= SOI) return fail(jpeg, CWI_JPEG_CORRUPT, "a restart marker is missing");
    jpeg->bits = 0;
    jpeg->bit_count = jpeg->padding_count = 0;
    jpeg->is_first_row = true;
    jpeg->rows_to_restart = jpeg->restart_interval / jpeg->width;
    return CWI_JPEG_OK;
}

cwi_jpeg_status cwi_lossless_jpeg_read(cwi_lossless_jpeg *jpeg, uint16_t *samples, size_t stride, uint32_t row_limit) {
    while (row_limit-- > 0 && !jpeg->is_complete) {
        cwi_jpeg_status status = read_row(jpeg, samples, stride);
        if (status != CWI_JPEG_OK) return status;
        if (jpeg->row < jpeg->height) {
            if (jpeg->rows_to_restart > 0 && --jpeg->rows_to_restart == 0) status = restart(jpeg);
            if (status != CWI_JPEG_OK) return status;
            continue;
        }
        for (int index = 0; index < jpeg->scan_component_count; index++)
            jpeg->complete_components |= 1u << jpeg->scan_components[index];
        jpeg->is_complete = jpeg->complete_components == (1u << jpeg->component_count) - 1;
        if (!jpeg->is_complete) status = read_segments(jpeg);
        if (status != CWI_JPEG_OK) return status;
    }
    return CWI_JPEG_OK;
}

uint32_t cwi_lossless_jpeg_row_count(const cwi_lossless_jpeg *jpeg) {
    if (jpeg->is_complete) return jpeg->height;
    unsigned scanned = jpeg->complete_components;
    for (int index = 0; index < jpeg->scan_component_count; index++) scanned |= 1u << jpeg->scan_components[index];
    return scanned == (1u << jpeg->component_count) - 1 ? jpeg->row : 0;
}

void cwi_lossless_jpeg_scale(uint16_t *samples, size_t count, int precision) {
    if (precision == 16) return;
    uint32_t maximum = (1u << precision) - 1;
    for (size_t index = 0; index < count; index++) {
        uint32_t value = samples[index] & maximum;
        samples[index] = (uint16_t)((value * 65535 + maximum / 2) / maximum);
    }
}

static uint16_t limited(int64_t value) { return value < 0 ? 0 : value > 65535 ? 65535 : (uint16_t)value; }

// BT.601, as JFIF has it, in 65,536ths.
static void convert_ycc(uint16_t pixel[4]) {
    int64_t y = (int64_t)pixel[0] << 16, cb = (int64_t)pixel[1] - 32768, cr = (int64_t)pixel[2] - 32768;
    pixel[0] = limited((y + 91881 * cr + 32768) >> 16);
    pixel[1] = limited((y - 22554 * cb - 46802 * cr + 32768) >> 16);
    pixel[2] = limited((y + 116130 * cb + 32768) >> 16);
}

void cwi_lossless_jpeg_expand(const cwi_lossless_jpeg *jpeg, uint16_t *pixels, size_t count) {
    cwi_lossless_jpeg_scale(pixels, count * 4, jpeg->precision);
    bool is_ink = jpeg->component_count == 4;
    for (size_t index = 0; index < count; index++, pixels += 4) {
        if (jpeg->component_count == 1) pixels[1] = pixels[2] = pixels[0];
        if (jpeg->is_ycc && jpeg->component_count > 1) convert_ycc(pixels);
        for (int channel = 0; is_ink && jpeg->is_ycc && channel < 3; channel++) pixels[channel] = 65535 - pixels[channel];
        if (!is_ink) pixels[3] = 65535;
    }
}
