// What the files of TIFF share.

#ifndef CWEBIMAGE_FORMATS_TIFF_H
#define CWEBIMAGE_FORMATS_TIFF_H

#include "file.h"
#include "tiff_library.h"

/// A file in memory, as libtiff reads and writes it.
typedef struct {
    /// Only read; NULL while writing.
    const uint8_t *bytes;
    cwi_buffer output;
    size_t length, position;
    int error_count;
} tiff_memory;

/// - largest_block: the maximum memory that libtiff takes at once; 0 for no limit.
TIFF *cwi_tiff_open(tiff_memory *memory, const char *mode, size_t largest_block);

/// A page as its directory describes it, read without libtiff.
typedef struct {
    /// Of the directory in the file.
    uint64_t offset;
    int page_count;
    uint32_t width, height;
    uint16_t depth, channel_count, compression, photometric, format, alpha_kind, ink_set;
    uint16_t horizontal_subsampling, vertical_subsampling;
    bool is_planar, is_tiled, has_alpha_tag;
    /// Whether blocks are lossless JPEG, which libtiff does not read with the usual libjpeg; set when the file is open.
    bool is_lossless_jpeg;
    /// A strip is as wide as the image.
    uint32_t block_width, block_height;
    /// Of all planes.
    uint64_t block_count;
    /// A decompressed block of one plane, in bytes.
    uint64_t block_length;
} tiff_page;

/// Reads the directories up to that of a page, and checks what libtiff would allocate for it.
///
/// - index: of the page; -1 for the first.
cwi_result cwi_tiff_read_page(const uint8_t *bytes, size_t length, const cwi_limits *limits, int index, tiff_page *page);

/// Whether the first block is a lossless JPEG.
bool cwi_tiff_is_lossless_jpeg(TIFF *tiff, const tiff_page *page, const tiff_memory *memory);

/// Whether `cwi_tiff_read_samples` reads a page; a failure tells what it is.
cwi_result cwi_tiff_check_samples(const tiff_page *page);

/// Whether the colors are CIELab, in one of its three encodings.
bool cwi_tiff_is_lab(const tiff_page *page);

/// The number of colors: 1, 3 or 4.
int cwi_tiff_color_count(const tiff_page *page);

/// Whether the first sample behind the colors is alpha. Beside a palette's indices, a sample without a kind is not.
bool cwi_tiff_has_alpha(const tiff_page *page);

/// Reads a part of a page to 16 bits a channel: straight RGBA, or inverted CMYK if `is_ink`. Blocks that cannot be read stay zero.
///
/// - pixels: of the size of the part, without gaps.
/// - stops: whether to stop at a block that cannot be read.
/// Returns the number of blocks that cannot be read; `*first` is the index of the first one.
uint64_t cwi_tiff_read_samples(
    TIFF *tiff, const tiff_memory *memory, const tiff_page *page, cwi_part part, bool is_ink, uint16_t *pixels, bool stops,
    uint64_t *first);

#endif
