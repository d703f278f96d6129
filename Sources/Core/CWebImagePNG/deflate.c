#include "CWebImagePNG.h"

#include <limits.h>
#include <zlib.h>

static bool is_set(const uint8_t *bytes, size_t bit) { return bytes[bit / 8] >> (bit % 8) & 1; }

/// Where the last block of a deflate stream begins and ends, in bits.
typedef struct {
    size_t start, end;
} block;

/// Finds the last block, for which the stream has to be read. Returns whether the stream is good.
static bool find_last_block(uint8_t *stream, size_t length, block *last) {
    z_stream reader = {.next_in = stream, .avail_in = (uInt)length};
    if (length > UINT_MAX || inflateInit2(&reader, -MAX_WBITS) != Z_OK) return false;
    int status = Z_OK;
    bool is_last = false;
    *last = (block){0};
    while (status == Z_OK && !is_last && last->end / 8 < length) {
        last->start = last->end;
        is_last = is_set(stream, last->start);
        // 128 says that a block has ended.
        do {
            uint8_t unused[1 << 14];
            reader.next_out = unused;
            reader.avail_out = sizeof unused;
            status = inflate(&reader, Z_BLOCK);
        } while (status == Z_OK && !(reader.data_type & 128));
        last->end = reader.total_in * 8 - (size_t)(reader.data_type & 7);
    }
    inflateEnd(&reader);
    return status == Z_OK && is_last;
}

size_t cwi_deflate_continue(uint8_t *stream, size_t length) {
    block last;
    if (length == 0 || !find_last_block(stream, length, &last)) return 0;
    stream[last.start / 8] &= (uint8_t) ~(1U << (last.start % 8));
    // A stored block without bytes: three bits that are 0, those to the next byte, and its length, as it is and inverted.
    size_t end = (last.end + 3 + 7) / 8;
    if (last.end % 8) stream[last.end / 8] &= (uint8_t)((1U << (last.end % 8)) - 1);
    for (size_t index = (last.end + 7) / 8; index < end; index++) stream[index] = 0;
    static const uint8_t nothing[4] = {0, 0, 0xFF, 0xFF};
    for (size_t index = 0; index < sizeof nothing; index++) stream[end + index] = nothing[index];
    return end + sizeof nothing;
}

uint32_t cwi_zlib_joined_checksum(uint32_t first, uint32_t second, size_t second_length) {
    return (uint32_t)adler32_combine(first, second, (z_off_t)second_length);
}
