#include <lcms2.h>

// Pixel layouts are macros that Swift does not import. All have four channels, so that one place can be read and written.

enum {
    cwi_lcms_rgb_and_alpha = TYPE_RGBA_8,
    // Red, green and blue are alike: the first is taken.
    cwi_lcms_gray_and_three_more = COLORSPACE_SH(PT_GRAY) | CHANNELS_SH(1) | EXTRA_SH(3) | BYTES_SH(1),
    // 255 minus the amount of ink, as Adobe's programs store it.
    cwi_lcms_inverted_cmyk = TYPE_CMYK_8_REV,
    // The same with 16 bits a channel.
    cwi_lcms_deep_rgb_and_alpha = TYPE_RGBA_16,
    cwi_lcms_deep_gray_and_three_more = COLORSPACE_SH(PT_GRAY) | CHANNELS_SH(1) | EXTRA_SH(3) | BYTES_SH(2),
    cwi_lcms_deep_inverted_cmyk = TYPE_CMYK_16_REV,
    // A transform that keeps no last pixel may be used on several threads at once.
    cwi_lcms_shareable = cmsFLAGS_NOCACHE,
    // No table that stands for several steps.
    cwi_lcms_exact = cmsFLAGS_NOOPTIMIZE,
};
