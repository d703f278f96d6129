// What reading and writing JPEG 2000 share.

#ifndef CWEBIMAGE_FORMATS_JP2_H
#define CWEBIMAGE_FORMATS_JP2_H

#include "file.h"
#include "jp2_library.h"

/// As Exif tools and the XMP specification (part 3, 1.1.4) say.
extern const uint8_t cwi_jp2_exif_identifier[16], cwi_jp2_xmp_identifier[16];

/// The first error that OpenJPEG reported.
typedef struct {
    char text[CWI_MESSAGE_LENGTH];
} cwi_jp2_message;

/// Keeps the first message, without its line feed; `data` is a cwi_jp2_message.
void cwi_jp2_note_error(const char *message, void *data);
void cwi_jp2_ignore_message(const char *message, void *data);

/// Rows of a picture, on the grid of which a reduction keeps every 2ⁿth.
typedef struct {
    uint32_t first, count;
} cwi_jp2_rows;

/// All rows that a reduction keeps.
cwi_jp2_rows cwi_jp2_all_rows(const cwi_jp2_picture *picture, int reduction);

/// Where rows begin and end on the reference grid.
uint32_t cwi_jp2_top(const cwi_jp2_picture *picture, cwi_jp2_rows rows, int reduction);
uint32_t cwi_jp2_bottom(const cwi_jp2_picture *picture, cwi_jp2_rows rows, int reduction);

/// Copies decoded rows, of which a reduction kept every 2ⁿth column and row. Returns false without memory, or if a channel has
/// no pixels.
bool cwi_jp2_copy_pixels(
    const cwi_jp2_picture *picture, const opj_image_t *image, int reduction, cwi_jp2_rows rows, void *pixels, size_t stride);

/// Whether pixels have 16 bits a channel.
static inline bool cwi_jp2_is_deep(const cwi_jp2_picture *picture) {
    return picture->depth > 8 && picture->colors != CWI_JP2_INK && picture->colors != CWI_JP2_CMYK;
}

/// The columns or rows that a reduction keeps of `length` ones that begin at `start`.
static inline uint32_t cwi_jp2_first_kept(uint32_t start, int reduction) {
    return (uint32_t)(((uint64_t)start + (1u << reduction) - 1) >> reduction);
}

static inline uint32_t cwi_jp2_kept(uint32_t start, uint32_t length, int reduction) {
    return (uint32_t)(((uint64_t)start + length + (1u << reduction) - 1) >> reduction) -
           cwi_jp2_first_kept(start, reduction);
}

#endif
