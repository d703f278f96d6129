#ifndef CWI_WITHOUT_TIFF

#include "tiff.h"

// libtiff lets liblzma take the memory that a block asks for, which is up to 4 GiB for a few bytes. Where the headers are can be
// found without decoding:
//
//     stream header │ block header │ chunks … 0 │ padding │ check │ block header │ … │ 0 index …
//
// (The .xz file format 1.2; the chunks of LZMA2 begin with their lengths.)

enum { FILTER_LZMA2 = 0x21, STREAM_HEADER_LENGTH = 12 };

typedef struct {
    const uint8_t *bytes;
    size_t length, position;
} xz_bytes;

/// Reads a number of up to 63 bits; false behind the end.
static bool read_vli(xz_bytes *xz, uint64_t *number) {
    *number = 0;
    for (int shift = 0; shift < 63; shift += 7) {
        if (xz->position >= xz->length) return false;
        uint8_t byte = xz->bytes[xz->position++];
        *number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

/// Reads a block header; false if there is none.
static bool read_block_header(xz_bytes *xz, uint64_t *dictionary_length) {
    if (xz->position + 2 > xz->length || xz->bytes[xz->position] == 0) return false;
    size_t end = xz->position + ((size_t)xz->bytes[xz->position] + 1) * 4;
    uint8_t flags = xz->bytes[xz->position + 1];
    if (end > xz->length) return false;
    xz_bytes header = {.bytes = xz->bytes, .length = end, .position = xz->position + 2};
    uint64_t number, filter, property_length;
    if ((flags & 0x40) && !read_vli(&header, &number)) return false;
    if ((flags & 0x80) && !read_vli(&header, &number)) return false;
    for (int index = 0; index <= (flags & 3); index++) {
        if (!read_vli(&header, &filter) || !read_vli(&header, &property_length)) return false;
        if (property_length > header.length - header.position) return false;
        if (filter == FILTER_LZMA2 && property_length == 1) {
            int bits = header.bytes[header.position];
            if (bits > 40) return false;
            uint64_t length = bits == 40 ? UINT32_MAX : (uint64_t)(2 | (bits & 1)) << (bits / 2 + 11);
            if (length > *dictionary_length) *dictionary_length = length;
        }
        header.position += (size_t)property_length;
    }
    xz->position = end;
    return true;
}

/// Skips the chunks of a block, and counts them; false if they do not end.
static bool skip_chunks(xz_bytes *xz, uint64_t *chunk_count) {
    while (xz->position < xz->length) {
        const uint8_t *chunk = xz->bytes + xz->position;
        size_t rest = xz->length - xz->position, length;
        ++*chunk_count;
        if (chunk[0] == 0) {
            xz->position++;
            return true;
        }
        if (chunk[0] < 3) {
            if (rest < 3) return false;
            length = 3 + ((size_t)chunk[1] << 8 | chunk[2]) + 1;
        } else if (chunk[0] >= 0x80) {
            if (rest < 5) return false;
            length = 5 + (chunk[0] >= 0xC0 ? 1 : 0) + ((size_t)chunk[3] << 8 | chunk[4]) + 1;
        } else {
            return false;
        }
        if (length > rest) return false;
        xz->position += length;
    }
    return false;
}

/// What liblzma cannot read either ends the search.
static void read_stream(xz_bytes xz, uint64_t *dictionary_length, uint64_t *chunk_count) {
    static const uint8_t check_lengths[16] = {0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64};
    if (xz.length < STREAM_HEADER_LENGTH || memcmp(xz.bytes, "\xFD" "7zXZ", 6) != 0) return;
    size_t check_length = check_lengths[xz.bytes[7] & 15];
    xz.position = STREAM_HEADER_LENGTH;
    while (read_block_header(&xz, dictionary_length)) {
        if (!skip_chunks(&xz, chunk_count)) return;
        xz.position = (xz.position + 3) / 4 * 4 + check_length;
        if (xz.position > xz.length) return;
    }
}

uint64_t cwi_tiff_dictionary_length(TIFF *tiff, const tiff_page *page, const tiff_memory *memory) {
    uint64_t dictionary_length = 0, chunk_count = 0;
    if (page->compression != COMPRESSION_LZMA) return 0;
    for (uint64_t index = 0; index < page->block_count; index++) {
        uint64_t offset = TIFFGetStrileOffset(tiff, (uint32_t)index), length = TIFFGetStrileByteCount(tiff, (uint32_t)index);
        if (offset > memory->length || length == 0) continue;
        // libtiff reads a block that ends behind the file up to there.
        if (length > memory->length - offset) length = memory->length - offset;
        read_stream(
            (xz_bytes){.bytes = memory->bytes + offset, .length = (size_t)length}, &dictionary_length, &chunk_count);
        // Blocks that share their bytes, more often than the file is long, are an attack.
        if (chunk_count > memory->length) return UINT32_MAX;
    }
    return dictionary_length;
}

#endif
