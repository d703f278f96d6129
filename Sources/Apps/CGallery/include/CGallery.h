#ifndef CGALLERY_H
#define CGALLERY_H

// What Swift cannot call: GNU's functions, and those of libjpeg, which reports errors with longjmp.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Renames a file unless the new name is in use. Returns the error number, 0 on success.
int gallery_rename_to_unused_name(const char *file, const char *place);

// Copies the extended attributes of a file to an open one, access control lists among them. Those that only the system sets may be
// missing. Returns the error number, 0 on success and where the file system has none.
int gallery_copy_attributes(const char *file, int target);

// Removes the access control list that an open file has from its folder, if any.
void gallery_remove_access_list(int file);

typedef enum gallery_turn_status {
    GALLERY_TURN_OK = 0,
    // The image ends within a block of pixels that would be at another edge.
    GALLERY_TURN_INEXACT,
    // More follows the image in the file, such as a second image or a video, which would be lost.
    GALLERY_TURN_HAS_MORE,
    // libjpeg cannot read the file, or the file is damaged: see the message.
    GALLERY_TURN_FAILED,
} gallery_turn_status;

typedef struct gallery_jpeg {
    // To be released with free; NULL after a failure.
    uint8_t *bytes;
    size_t length;
    char message[200];
} gallery_jpeg;

// Turns a JPEG without decoding its pixels: moves the blocks of 8 × 8 coefficients, and mirrors each. First exchanges rows and columns if
// `transposes`, then mirrors. Markers are kept as they are, progressive files stay progressive.
gallery_turn_status gallery_turn_jpeg(
    const uint8_t *bytes, size_t length, bool transposes, bool mirrors_columns, bool mirrors_rows, gallery_jpeg *result);

#endif
