#ifndef CWEBIMAGE_JPEG_SPOOL_H
#define CWEBIMAGE_JPEG_SPOOL_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include <jpeglib.h>

// Coefficients in a file. libjpeg keeps the coefficients of a JPEG of several scans in "virtual arrays" of blocks, which its
// memory manager may keep elsewhere. libjpeg-turbo as distributions build it (jmemnobs.c) keeps them in memory or fails.
// This takes their place in the manager's table of functions, which jpeglib.h documents:
//
//     access(rows) ─▶ in the window? ─ yes ─▶ the rows
//                          └ no ─▶ write the window back ─▶ read the window around the rows ─▶ the rows
//
// libjpeg goes through each array from the top, once a scan and once a pass, so that a window is read and written once for
// each of these. Rows that were never written are zero and not read.
typedef struct cwi_jpeg_spool {
    int descriptor;
    // Of the last failure.
    int system_error;
    off_t byte_count;
    struct spooled_array *arrays;
    // libjpeg's own.
    void (*realize_virt_arrays)(j_common_ptr);
} cwi_jpeg_spool;

// Keeps the coefficients of the image that is about to start in the file `descriptor`, which it does not close. Call it
// between jpeg_read_header and jpeg_start_decompress. What it allocates is libjpeg's, in the pool of the image. It fails
// as libjpeg fails: JERR_TFILE_READ and JERR_TFILE_WRITE, with errno in `system_error`.
void cwi_jpeg_spool_to(j_decompress_ptr jpeg, int descriptor);

// The decoder's own, which it has from its beginning.
cwi_jpeg_spool *cwi_jpeg_spool_of(j_common_ptr jpeg);

// The memory, in bytes, that the windows take at the most for an image whose header is read.
size_t cwi_jpeg_spool_window_byte_count(j_decompress_ptr jpeg);

// The memory, in bytes, that the arrays take without a file; 0 for an image of one scan.
size_t cwi_jpeg_coefficient_byte_count(j_decompress_ptr jpeg);

#endif
