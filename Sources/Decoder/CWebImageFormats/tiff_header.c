#ifndef CWI_WITHOUT_TIFF

#include "tiff.h"

#include <stdio.h>

// libtiff believes the numbers of a directory: it allocates a strip, a tile, or the lists of them before it looks for
// their bytes, and follows the chain of directories wherever it leads. So these are read here first.
//
//     II or MM │ 42 │ offset of a directory          a directory: n │ n entries of 12 bytes │ offset of the next one
//     II or MM │ 43 │ 8, 0 │ offset (BigTIFF)        numbers of 8 bytes, and entries of 20

enum {
    /// As libtiff's.
    LARGEST_ENTRY_COUNT = 4096,
    LARGEST_PAGE_COUNT = 65535,
    LARGEST_BLOCK_COUNT = 1 << 21,
    LARGEST_CHANNEL_COUNT = 256,
};

typedef struct {
    const uint8_t *bytes;
    size_t length;
    bool is_big_endian, is_big;
} tiff_bytes;

/// Reads a number; false behind the end.
static bool read_number(const tiff_bytes *file, uint64_t offset, int count, uint64_t *number) {
    if (offset > file->length || file->length - offset < (uint64_t)count) return false;
    *number = 0;
    for (int index = 0; index < count; index++)
        *number = *number << 8 | file->bytes[offset + (uint64_t)(file->is_big_endian ? index : count - 1 - index)];
    return true;
}

static int size_of_type(uint64_t type) {
    static const uint8_t sizes[19] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type < 19 ? sizes[type] : 0;
}

typedef struct {
    uint64_t tag, type, count;
    /// Of the first value.
    uint64_t value;
} tiff_entry;

static bool read_entry(const tiff_bytes *file, uint64_t offset, tiff_entry *entry) {
    int width = file->is_big ? 8 : 4;
    if (!read_number(file, offset, 2, &entry->tag) || !read_number(file, offset + 2, 2, &entry->type) ||
        !read_number(file, offset + 4, width, &entry->count))
        return false;
    uint64_t length, place = offset + 4 + (uint64_t)width;
    if (__builtin_mul_overflow(entry->count, (uint64_t)size_of_type(entry->type), &length)) return false;
    entry->value = place;
    return length <= (uint64_t)width || read_number(file, place, width, &entry->value);
}

/// The value at an index; `missing` if there is none.
static uint64_t value_at(const tiff_bytes *file, const tiff_entry *entry, uint64_t index, uint64_t missing) {
    int size = size_of_type(entry->type);
    uint64_t value;
    if (index >= entry->count || (size != 1 && size != 2 && size != 4 && size != 8)) return missing;
    return read_number(file, entry->value + index * (uint64_t)size, size, &value) ? value : missing;
}

/// Reads the number of entries, and where the offset of the next directory is.
static bool read_count(const tiff_bytes *file, uint64_t offset, uint64_t *count, uint64_t *next) {
    int width = file->is_big ? 8 : 2;
    if (!read_number(file, offset, width, count) || *count > LARGEST_ENTRY_COUNT) return false;
    *next = offset + (uint64_t)width + *count * (file->is_big ? 20 : 12);
    return true;
}

static uint16_t small(uint64_t number) { return number > UINT16_MAX ? UINT16_MAX : (uint16_t)number; }
static uint32_t middle(uint64_t number) { return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number; }

static void read_tag(const tiff_bytes *file, const tiff_entry *entry, tiff_page *page, uint64_t *rows_per_strip) {
    uint64_t value = value_at(file, entry, 0, 0);
    switch (entry->tag) {
    case TIFFTAG_IMAGEWIDTH: page->width = middle(value); break;
    case TIFFTAG_IMAGELENGTH: page->height = middle(value); break;
    case TIFFTAG_BITSPERSAMPLE: page->depth = small(value); break;
    case TIFFTAG_COMPRESSION: page->compression = small(value); break;
    case TIFFTAG_PHOTOMETRIC: page->photometric = small(value); break;
    case TIFFTAG_SAMPLESPERPIXEL: page->channel_count = small(value); break;
    case TIFFTAG_ROWSPERSTRIP: *rows_per_strip = value; break;
    case TIFFTAG_PLANARCONFIG: page->is_planar = value == PLANARCONFIG_SEPARATE; break;
    case TIFFTAG_SAMPLEFORMAT: page->format = small(value); break;
    case TIFFTAG_INKSET: page->ink_set = small(value); break;
    case TIFFTAG_EXTRASAMPLES:
        page->has_alpha_tag = entry->count > 0;
        page->alpha_kind = small(value);
        break;
    case TIFFTAG_TILEWIDTH:
        page->is_tiled = true;
        page->block_width = middle(value);
        break;
    case TIFFTAG_TILELENGTH: page->block_height = middle(value); break;
    case TIFFTAG_YCBCRSUBSAMPLING:
        page->horizontal_subsampling = small(value);
        page->vertical_subsampling = small(value_at(file, entry, 1, 2));
        break;
    default: break;
    }
}

/// Reads a directory, whose values must all be in the file, or are as long as the file at most.
static cwi_result read_directory(const tiff_bytes *file, const cwi_limits *limits, tiff_page *page) {
    uint64_t count, next, rows_per_strip = UINT32_MAX, metadata_length = 0;
    if (!read_count(file, page->offset, &count, &next) || next > file->length)
        return cwi_failure(CWI_TRUNCATED, "the directory of the page is not in the file");
    page->depth = page->channel_count = page->compression = page->format = page->ink_set = 1;
    page->photometric = UINT16_MAX;
    page->horizontal_subsampling = page->vertical_subsampling = 2;
    for (uint64_t index = 0; index < count; index++) {
        tiff_entry entry;
        uint64_t place = page->offset + (file->is_big ? 8 + index * 20 : 2 + index * 12);
        if (!read_entry(file, place, &entry)) continue;
        read_tag(file, &entry, page, &rows_per_strip);
        bool is_list = entry.tag == TIFFTAG_STRIPOFFSETS || entry.tag == TIFFTAG_STRIPBYTECOUNTS ||
                       entry.tag == TIFFTAG_TILEOFFSETS || entry.tag == TIFFTAG_TILEBYTECOUNTS;
        uint64_t length = entry.count * (uint64_t)size_of_type(entry.type);
        // libtiff reads tags that are outside of the file up to their end, or not at all.
        if (!is_list) metadata_length += length < file->length ? length : file->length;
    }
    if (metadata_length > limits->metadata_length) return cwi_failure(CWI_LIMIT, NULL);
    if (!page->is_tiled) {
        page->block_width = page->width;
        page->block_height = rows_per_strip == 0 || rows_per_strip > page->height ? page->height : (uint32_t)rows_per_strip;
    }
    return cwi_success();
}

/// Checks the sizes that follow from a directory.
static cwi_result check_page(tiff_page *page, const cwi_limits *limits) {
    cwi_result result = cwi_check_size(limits, page->width, page->height);
    if (result.status != CWI_OK) return result;
    char text[CWI_MESSAGE_LENGTH];
    if (page->channel_count == 0 || page->channel_count > LARGEST_CHANNEL_COUNT) {
        snprintf(text, sizeof text, "%d channels", page->channel_count);
        return cwi_failure(CWI_UNSUPPORTED, text);
    }
    if (page->depth == 0 || page->depth > 64) {
        snprintf(text, sizeof text, "%d bits a channel", page->depth);
        return cwi_failure(CWI_UNSUPPORTED, text);
    }
    if (page->block_width == 0 || page->block_height == 0) return cwi_failure(CWI_CORRUPT, "tiles without a size");
    // A tile may be larger than the image, but not by more than its rounding to 16 pixels explains, or a usual tile.
    uint64_t pixels = (uint64_t)page->block_width * page->block_height;
    uint64_t image = ((uint64_t)page->width + 15) * ((uint64_t)page->height + 15);
    if (pixels > image && pixels > 1 << 24) {
        snprintf(
            text, sizeof text, "tiles of %u×%u pixels for an image of %u×%u", page->block_width, page->block_height,
            page->width, page->height);
        return cwi_failure(CWI_CORRUPT, text);
    }
    uint64_t across = ((uint64_t)page->width + page->block_width - 1) / page->block_width;
    uint64_t down = ((uint64_t)page->height + page->block_height - 1) / page->block_height;
    page->block_count = across * down * (page->is_planar ? page->channel_count : 1);
    if (page->block_count > LARGEST_BLOCK_COUNT) {
        snprintf(text, sizeof text, "%llu strips or tiles", (unsigned long long)page->block_count);
        return cwi_failure(CWI_UNSUPPORTED, text);
    }
    uint64_t row = ((uint64_t)page->block_width * (page->is_planar ? 1 : page->channel_count) * page->depth + 7) / 8;
    page->block_length = row * page->block_height;
    return page->block_length > limits->memory_length ? cwi_failure(CWI_LIMIT, NULL) : cwi_success();
}

/// Counts the directories, and finds one. A chain that leads back ends there.
static void find_page(const tiff_bytes *file, uint64_t first, int index, tiff_page *page) {
    // Brent's algorithm: the directory of a power of two is kept, and compared with those behind it.
    uint64_t offset = first, kept = 0;
    int kept_count = 1;
    page->page_count = 0;
    while (offset != 0 && offset != kept && page->page_count < LARGEST_PAGE_COUNT) {
        uint64_t count, next;
        if (!read_count(file, offset, &count, &next)) break;
        if (page->page_count == index) page->offset = offset;
        page->page_count++;
        if (page->page_count == kept_count) {
            kept = offset;
            kept_count *= 2;
        }
        if (!read_number(file, next, file->is_big ? 8 : 4, &offset)) break;
    }
}

cwi_result cwi_tiff_read_page(const uint8_t *bytes, size_t length, const cwi_limits *limits, int index, tiff_page *page) {
    *page = (tiff_page){0};
    tiff_bytes file = {.bytes = bytes, .length = length};
    uint64_t version, first;
    if (length < 8) return cwi_failure(CWI_TRUNCATED, NULL);
    file.is_big_endian = bytes[0] == 'M';
    read_number(&file, 2, 2, &version);
    file.is_big = version == 43;
    if (version != 42 && version != 43) return cwi_failure(CWI_CORRUPT, "an unknown version");
    if (!read_number(&file, file.is_big ? 8 : 4, file.is_big ? 8 : 4, &first)) return cwi_failure(CWI_TRUNCATED, NULL);
    find_page(&file, first, index < 0 ? 0 : index, page);
    if (page->page_count == 0)
        return first < length && first != 0 ? cwi_failure(CWI_CORRUPT, "a directory that is none")
                                            : cwi_failure(CWI_TRUNCATED, "the file ends before its directory");
    if (index >= page->page_count) return cwi_no_page(page->page_count);
    cwi_result result = read_directory(&file, limits, page);
    return result.status == CWI_OK ? check_page(page, limits) : result;
}

#endif
