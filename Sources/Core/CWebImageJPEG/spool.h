#ifndef CWEBIMAGE_JPEG_SPOOL_H
#define CWEBIMAGE_JPEG_SPOOL_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include <jpeglib.h>

// Coefficients in a file. libjpeg keeps the coefficients of a JPEG with several scans in "virtual arrays" of blocks,
// which its memory manager may keep elsewhere. libjpeg-turbo as built by distributions (jmemnobs.c) keeps them in
// memory or fails. This replaces functions of the manager, which jpeglib.h documents:
//
//     access(rows) ─▶ in the window? ─ yes ─▶ the rows
//                          └ no ─▶ write the window back ─▶ read the window around the rows ─▶ the rows
//
// libjpeg accesses each array from the top, once for each scan and pass, so a window is read and written once for each.
// Rows that were never written are zero and are not read.
typedef struct cwi_jpeg_spool {
    int descriptor;
    // The errno of the last failure.
    int system_error;
    off_t byte_count;
    // The length of a file that has one already, else 0.
    off_t fixed_length;
    struct spooled_array *arrays;
    // libjpeg's function.
    void (*realize_virt_arrays)(j_common_ptr);
} cwi_jpeg_spool;

// Keeps the coefficients of the next image in the file `descriptor`, which it does not close. A file that is not empty keeps its
// length: it is written as mapped memory, which a process without the right to write to files may do. Call it between
// jpeg_read_header and jpeg_start_decompress. Its memory is in libjpeg's pool of the image. It fails like libjpeg:
// JERR_TFILE_READ and JERR_TFILE_WRITE, with errno in `system_error`.
void cwi_jpeg_spool_to(j_decompress_ptr jpeg, int descriptor);

// The spool of a decoder, which exists from its creation.
cwi_jpeg_spool *cwi_jpeg_spool_of(j_common_ptr jpeg);

// The maximum memory of the windows, in bytes, for an image whose header has been read.
size_t cwi_jpeg_spool_window_byte_count(j_decompress_ptr jpeg);

// The memory of the arrays without a file, in bytes; 0 for an image of one scan.
size_t cwi_jpeg_coefficient_byte_count(j_decompress_ptr jpeg);

#endif
