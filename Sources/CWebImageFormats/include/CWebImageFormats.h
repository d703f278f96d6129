// One interface to the libraries of AVIF, HEIC, JPEG XL, TIFF, JPEG 2000 and SVG.
//
//     bytes ─▶ cwi_file_open ─▶ cwi_file_info ─▶ cwi_file_decode ─▶ pixels
//
// No call keeps a pointer to memory of the caller's, except that a file refers to its bytes until it is closed, and an encoder to its
// metadata. Nothing calls back into Swift, and nothing is global: a file or an encoder is used by one thread at a time, several of them by several threads.

#ifndef CWEBIMAGE_FORMATS_H
#define CWEBIMAGE_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    CWI_AVIF,
    CWI_HEIC,
    CWI_JPEG_XL,
    CWI_TIFF,
    CWI_JPEG_2000,
    CWI_SVG,
} cwi_format;

typedef enum {
    CWI_OK,
    /// The bytes end too early.
    CWI_TRUNCATED,
    /// The bytes are damaged.
    CWI_CORRUPT,
    /// The library does not read or write this.
    CWI_UNSUPPORTED,
    CWI_NO_MEMORY,
    /// The image is over a limit of the library's.
    CWI_LIMIT,
    /// There is no such page.
    CWI_NO_PAGE,
} cwi_status;

enum { CWI_MESSAGE_LENGTH = 160 };

typedef struct {
    cwi_status status;
    /// The library's message, possibly empty.
    char message[CWI_MESSAGE_LENGTH];
    /// CWI_LIMIT: the size that is not allowed; 0 for another limit.
    uint64_t width, height;
    /// CWI_NO_PAGE: the number of pages.
    int page_count;
} cwi_result;

typedef struct {
    uint32_t pixel_count;
    uint32_t side;
    uint32_t frame_count;
    size_t metadata_length;
    size_t memory_length;
} cwi_limits;

typedef struct {
    /// Of the decoded pixels.
    uint32_t width, height;
    /// The part that is shown; the whole for most files.
    uint32_t crop_x, crop_y, crop_width, crop_height;
    /// What remains to be done to the pixels, as in EXIF, 1 to 8.
    int orientation;
    /// Bits of a channel.
    int depth;
    /// 2 for pixels of 16 bits a channel, else 1.
    int bytes_per_channel;
    bool has_alpha;
    bool is_premultiplied;
    bool is_gray;
    bool is_animated;
    int page_count, frame_count;
    /// 0 for an animation that never ends; -1 if the file does not tell.
    int loop_count;
    /// ITU-T H.273; 0 if unknown. They describe the decoded pixels.
    int primaries, transfer;
    /// A color profile, or NULL. Valid until the file is closed.
    const uint8_t *profile;
    size_t profile_length;
    /// EXIF and XMP as the library tells them, or NULL. Valid until the file is closed.
    const uint8_t *exif, *xmp;
    size_t exif_length, xmp_length;
    /// The resolutions of JPEG 2000: each has half the sides of the one before.
    int resolution_count;
} cwi_file_info;

/// What to decode.
typedef struct {
    /// The index of an image, or -1 for the main one.
    int page;
    int thread_count;
    /// The size that is wanted; 0 for all pixels. An embedded thumbnail may serve if it is as large, and has the image's proportions.
    uint32_t wanted_width, wanted_height;
    /// Whether bytes are missing at the end: what can be read is read.
    bool is_prefix;
    /// Whether EXIF and XMP are read.
    bool reads_metadata;
} cwi_choice;

typedef struct cwi_file cwi_file;

/// Whether the program was built with this format's library.
bool cwi_has_format(cwi_format format);

/// Opens a file, and reads its header. `*file` must be closed if the status is CWI_OK.
cwi_result cwi_file_open(
    cwi_format format, const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file);
void cwi_file_close(cwi_file *file);

const cwi_file_info *cwi_file_get_info(const cwi_file *file);

/// The seconds for which a frame is shown; 0 for one that does not exist.
double cwi_file_duration(const cwi_file *file, int frame);

/// Whether a frame is decoded without those before it.
bool cwi_file_is_keyframe(const cwi_file *file, int frame);

/// Decodes a frame: RGBA of info's width and height.
///
/// - reduction: decodes 1/2^n of the pixels; JPEG 2000 only.
/// - is_partial: set where the file is damaged and a part could be decoded. With NULL such files are an error.
cwi_result cwi_file_decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial);

/// Draws an SVG at this size, as cairo's premultiplied ARGB32.
cwi_result cwi_file_draw(cwi_file *file, uint32_t width, uint32_t height, void *pixels, size_t stride);

typedef struct {
    uint32_t width, height;
    bool has_alpha;
    bool is_lossless;
    /// 0 to 100.
    double quality, alpha_quality;
    /// 0 is the slowest, 10 the fastest.
    int speed;
    int thread_count;
    int frame_count;
    /// 0 is forever.
    int loop_count;
    /// Metadata, or NULL; not of TIFF. It must exist until the encoder is closed.
    const uint8_t *exif, *xmp;
    size_t exif_length, xmp_length;
} cwi_encoding;

typedef struct cwi_encoder cwi_encoder;

/// Whether the program can write this format, and with several frames.
bool cwi_can_encode(cwi_format format, bool is_animation);

/// Starts a file. `*encoder` must be closed if the status is CWI_OK.
cwi_result cwi_encoder_open(cwi_format format, const cwi_encoding *encoding, cwi_encoder **encoder);
void cwi_encoder_close(cwi_encoder *encoder);

/// Adds a frame of straight RGBA.
cwi_result cwi_encoder_add(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds);

/// Ends the file. `*bytes` must be freed with `free`.
cwi_result cwi_encoder_finish(cwi_encoder *encoder, uint8_t **bytes, size_t *length);

#endif
