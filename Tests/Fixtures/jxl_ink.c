// Makes color/ink.jxl, a lossless JPEG XL in CMYK, which cjxl cannot write:
//
//     python3 -c 'import sys; from PIL import Image; sys.stdout.buffer.write(Image.open("color/press.jpg").info["icc_profile"])' >/tmp/press.icc
//     cc jxl_ink.c -ljxl -o /tmp/jxl_ink && /tmp/jxl_ink /tmp/press.icc color/ink.jxl
//
// 16 × 4 pixels. A pixel's inks are those of `ink` below; JPEG XL stores 255 minus the ink.

#include <jxl/encode.h>
#include <stdint.h>
#include <stdio.h>

static uint8_t ink(int x, int y, int channel) {
    const int steps[4] = {x % 4, x / 4, y, (x + y) % 2};
    return (uint8_t)(steps[channel] * 85);
}

int main(int count, char **arguments) {
    enum { width = 16, height = 4 };
    static uint8_t profile[1 << 22], colors[width * height * 3], black[width * height], output[1 << 22];
    FILE *input = count == 3 ? fopen(arguments[1], "rb") : NULL;
    if (!input) return 2;
    size_t length = fread(profile, 1, sizeof profile, input);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            for (int channel = 0; channel < 3; channel++)
                colors[(y * width + x) * 3 + channel] = 255 - ink(x, y, channel);
            black[y * width + x] = 255 - ink(x, y, 3);
        }
    JxlEncoder *encoder = JxlEncoderCreate(NULL);
    JxlBasicInfo basics;
    JxlEncoderInitBasicInfo(&basics);
    basics.xsize = width;
    basics.ysize = height;
    basics.bits_per_sample = 8;
    basics.num_color_channels = 3;
    basics.num_extra_channels = 1;
    basics.uses_original_profile = JXL_TRUE;
    JxlExtraChannelInfo channel;
    JxlEncoderInitExtraChannelInfo(JXL_CHANNEL_BLACK, &channel);
    channel.bits_per_sample = 8;
    JxlPixelFormat format = {3, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0}, single = {1, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
    int failed = JxlEncoderSetCodestreamLevel(encoder, 10) || JxlEncoderSetBasicInfo(encoder, &basics) ||
                 JxlEncoderSetICCProfile(encoder, profile, length) ||
                 JxlEncoderSetExtraChannelInfo(encoder, 0, &channel);
    JxlEncoderFrameSettings *settings = JxlEncoderFrameSettingsCreate(encoder, NULL);
    failed = failed || JxlEncoderSetFrameLossless(settings, JXL_TRUE) ||
             JxlEncoderAddImageFrame(settings, &format, colors, sizeof colors) ||
             JxlEncoderSetExtraChannelBuffer(settings, &single, black, sizeof black, 0);
    JxlEncoderCloseInput(encoder);
    uint8_t *next = output;
    size_t room = sizeof output;
    if (failed || JxlEncoderProcessOutput(encoder, &next, &room) != JXL_ENC_SUCCESS) return 1;
    FILE *file = fopen(arguments[2], "wb");
    fwrite(output, 1, sizeof output - room, file);
    return fclose(file);
}
