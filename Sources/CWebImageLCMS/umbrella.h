#include <lcms2.h>

// Pixel layouts are macros that Swift does not import. All are 4 bytes a pixel, so that one place can be read and
// written.

enum {
    cwi_lcms_rgb_and_alpha = TYPE_RGBA_8,
    // Red, green and blue are alike: the first is taken.
    cwi_lcms_gray_and_three_more = COLORSPACE_SH(PT_GRAY) | CHANNELS_SH(1) | EXTRA_SH(3) | BYTES_SH(1),
    // 255 minus the amount of ink, as Adobe's programs store it.
    cwi_lcms_inverted_cmyk = TYPE_CMYK_8_REV,
    // A transform that keeps no last pixel may be used on several threads at once.
    cwi_lcms_shareable = cmsFLAGS_NOCACHE,
    // No table that stands for several steps.
    cwi_lcms_exact = cmsFLAGS_NOOPTIMIZE,
};
