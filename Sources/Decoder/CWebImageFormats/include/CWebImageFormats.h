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
    /// The number of formats.
    CWI_FORMATS,
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
    /// The library cannot be loaded.
    CWI_NO_LIBRARY,
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

/// How the channels of a JPEG 2000 become colors.
typedef enum {
    CWI_JP2_GRAY,
    CWI_JP2_RGB,
    CWI_JP2_YCC,
    /// e-sYCC.
    CWI_JP2_EYCC,
    /// Converted to RGB by the rule that each ink absorbs its light.
    CWI_JP2_CMYK,
    /// Left as 255 minus each ink, for the file's profile.
    CWI_JP2_INK,
    /// CIELab under D50.
    CWI_JP2_LAB,
} cwi_jp2_colors;

enum { CWI_JP2_CHANNELS = 5 };

typedef struct {
    uint32_t component;
    /// The component's columns and rows on the reference grid: every dx-th, every dy-th.
    uint32_t dx, dy;
    /// The part of `palette` of which the values are indices; a count of 0 for none.
    size_t palette_start, palette_count;
    /// Levels from 0 to 65535 become `level * scale + offset`; for YCC, CMYK and CIELab.
    double scale, offset;
} cwi_jp2_channel;

/// A JPEG 2000, as its headers describe it.
typedef struct {
    /// The bytes that OpenJPEG gets.
    size_t codestream_offset, codestream_length;
    /// Where the length of the last tile part is stored if the file ends before it does, from the start of the code stream, and
    /// the length that is there; 0 for whole files.
    size_t cut_offset;
    uint32_t cut_length;
    bool is_complete, has_packed_headers;
    uint32_t component_count;
    /// The image on the reference grid, and the distance of its pixels there.
    uint32_t x0, y0, x1, y1, dx, dy;
    uint32_t width, height;
    int depth, resolution_count;
    cwi_jp2_colors colors;
    /// Colors, then alpha.
    cwi_jp2_channel channels[CWI_JP2_CHANNELS];
    int color_count;
    bool has_alpha, is_premultiplied;
    /// Levels from 0 to 65535.
    const uint16_t *palette;
    size_t palette_count;
    /// The color profile in the file's bytes; a length of 0 for none.
    size_t profile_offset, profile_length;
} cwi_jp2_picture;

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
    /// The strips or tiles of a TIFF, and their bytes; 0 for other formats.
    uint32_t block_width, block_height;
    size_t block_length;
    /// Where the image begins on the grid of which a reduction keeps every 2ⁿth column and row.
    uint32_t origin_x, origin_y;
    /// Whether the pixels are 255 (of 16 bits, 65,535) minus cyan, magenta, yellow and black, to be converted by the profile.
    bool is_ink;
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
    /// What the headers of a JPEG 2000 tell; needed for that format. It is copied.
    const cwi_jp2_picture *jp2;
    /// AVIF: whether the tracks are read, else the items.
    bool is_sequence;
    /// AVIF: whether the image is a grid of cells.
    bool is_grid;
} cwi_choice;

/// A part of the decoded pixels.
typedef struct {
    uint32_t x, y, width, height;
} cwi_part;

typedef struct cwi_file cwi_file;

/// Whether the program was built with this format's library.
bool cwi_has_format(cwi_format format);

/// Loads the library of a format, and what it otherwise loads from files when an image needs it, for a process that can open no files later.
/// `offer` gets the paths of the files that librsvg opens even then: fonts. If the library is missing, opening a file of the format fails.
void cwi_prepare(cwi_format format, void (*offer)(const char *path));

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
///   The result begins at the first column and row that the reduction keeps.
/// - is_partial: set where the file is damaged and a part could be decoded. With NULL such files are an error.
cwi_result cwi_file_decode(cwi_file *file, int frame, int reduction, void *pixels, size_t stride, bool *is_partial);

/// Has a JPEG 2000 decoded in strips of so many rows of the result, each by itself; 0 for all at once. Strips take less memory and more
/// time, the pixels are the same. A multiple of the distance of rows of any component. Damage is then an error.
void cwi_file_set_strip_height(cwi_file *file, uint32_t row_count);

/// Has only a part decoded, whose size the result then has; TIFF only, which reads the strips or tiles of the part. Returns whether it is a
/// part of the image.
bool cwi_file_set_part(cwi_file *file, cwi_part part);

/// Draws an SVG at this size, as cairo's premultiplied ARGB32.
cwi_result cwi_file_draw(cwi_file *file, uint32_t width, uint32_t height, void *pixels, size_t stride);

typedef struct {
    uint32_t width, height;
    bool has_alpha;
    bool is_lossless;
    /// 0 to 100, as the format's library has it.
    double quality, alpha_quality;
    /// Whether lossy AVIF and HEIC have colors of full resolution.
    bool has_full_chroma;
    /// 0 is the slowest, 10 the fastest.
    int speed;
    int thread_count;
    int frame_count;
    /// 0 is forever.
    int loop_count;
    /// Metadata, or NULL; not of TIFF. It must exist until the encoder is closed.
    const uint8_t *exif, *xmp;
    size_t exif_length, xmp_length;
    /// The color profile of the pixels, or NULL for sRGB; of AVIF, HEIC and JPEG XL. It must exist as long.
    const uint8_t *profile;
    size_t profile_length;
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
